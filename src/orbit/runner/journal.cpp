#include "orbit/runner/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "orbit/base/json.hpp"

namespace orbit::runner {
namespace {

constexpr std::size_t journal_limit_bytes = 64 << 20;

}  // namespace

Result<Journal> Journal::open(const std::filesystem::path& runtime) {
  Journal journal;
  journal.path_ = runtime / "journal.jsonl";
  std::string bytes;
  if (auto text = platform::read_file(journal.path_, journal_limit_bytes))
    bytes = std::move(*text);
  else if (text.error().code != ErrorCode::not_found)
    return Failure(text.error());

  std::size_t good = 0;
  for (std::size_t end = 0; (end = bytes.find('\n', good)) != std::string::npos; good = end + 1) {
    auto record = json::decode<JournalRecord>(std::string_view(bytes).substr(good, end - good), json::From::ours);
    // After a crash of the machine the unsynced end may be anything; from the first line on that is no next record,
    // nothing can be believed.
    if (!record || record->seq != journal.last_seq_ + 1) break;
    journal.last_seq_ = record->seq;
    journal.past_.push_back(std::move(*record));
  }
  journal.size_bytes_ = static_cast<std::int64_t>(good);
  journal.cut_bytes_ = static_cast<std::int64_t>(bytes.size() - good);

  journal.fd_ =
      platform::Fd(::open(journal.path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!journal.fd_) return fail_errno(errno, "cannot be opened", journal.path_.string());
  if (journal.cut_bytes_ > 0 && ftruncate(journal.fd_.get(), journal.size_bytes_) != 0)
    return fail_errno(errno, "its torn end cannot be cut off", journal.path_.string());
  if (bytes.empty()) ORBIT_TRY(platform::sync_directory(runtime));
  return journal;
}

void Journal::append(JournalRecord record) {
  record.seq = ++last_seq_;
  pending_.push_back(json::encode(record) + "\n");
  [[maybe_unused]] const auto later = flush();
}

Result<void> Journal::flush() {
  while (!pending_.empty()) {
    const std::string& line = pending_.front();
    auto written = platform::write_all(fd_.get(), line);
    if (!written) {
      // Half a line must not be followed by another.
      if (ftruncate(fd_.get(), size_bytes_) != 0) return fail_errno(errno, "cannot be cut", path_.string());
      written.error().field = path_.string();
      return written;
    }
    size_bytes_ += static_cast<std::int64_t>(line.size());
    unsynced_ = true;
    pending_.pop_front();
  }
  return {};
}

Result<void> Journal::sync() {
  ORBIT_TRY(flush());
  if (!unsynced_) return {};
  if (fdatasync(fd_.get()) != 0) return fail_errno(errno, "cannot be synced", path_.string());
  unsynced_ = false;
  return {};
}

}  // namespace orbit::runner
