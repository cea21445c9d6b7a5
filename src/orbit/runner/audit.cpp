#include "orbit/runner/audit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "orbit/base/json.hpp"
#include "orbit/launch/runtime_file.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::runner {

void append_audit_sample(const std::filesystem::path& runtime, const launch::Usage& usage, WallTime now) {
  const auto path = runtime / "audit.jsonl";
  if (!launch::clear_the_way(path)) return;
  const platform::Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!fd) return;
  const std::string line = json::encode(AuditSample{now, usage.processes, usage.rss_bytes, usage.cpu_ms}) + "\n";
  const off_t end = lseek(fd.get(), 0, SEEK_END);
  // Half a sample would spoil the next one.
  if (!platform::write_all(fd.get(), line) && end >= 0) [[maybe_unused]]
    const int ignored = ftruncate(fd.get(), end);
}

}  // namespace orbit::runner
