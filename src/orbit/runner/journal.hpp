// runtime/journal.jsonl: append-only, one record a line. What cannot be written now (a full disk) is kept and written
// as soon as it can be: supervision goes on meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {

class Journal {
 public:
  // Reads what is there. A torn or damaged tail is cut off; `cut_bytes()` says how much.
  static Result<Journal> open(const std::filesystem::path& runtime);

  const std::vector<JournalRecord>& past() const { return past_; }
  std::int64_t cut_bytes() const { return cut_bytes_; }

  // Numbers the record and writes it, or keeps it for later.
  void append(JournalRecord record);
  // Writes what was kept; an error when something is left.
  Result<void> flush();
  // flush() and fdatasync.
  Result<void> sync();
  bool has_pending() const { return !pending_.empty(); }

 private:
  std::filesystem::path path_;
  platform::Fd fd_;
  std::int64_t size_bytes_ = 0;  // of whole lines
  std::int64_t last_seq_ = 0;
  bool unsynced_ = false;
  std::vector<JournalRecord> past_;
  std::int64_t cut_bytes_ = 0;
  std::deque<std::string> pending_;
};

}  // namespace orbit::runner
