#include "orbit/runner/execution_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/launch/runtime_file.hpp"

namespace orbit::runner {

ExecutionLog::ExecutionLog(const std::filesystem::path& runtime, const Clock& clock) : clock_(clock) {
  const auto path = runtime / "execution.log";
  if (launch::clear_the_way(path))
    fd_.reset(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
}

void ExecutionLog::line(std::string_view text) {
  if (!fd_) return;
  // One line an event, whatever a file name or an error message holds.
  std::string out = to_valid_utf8(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  out = to_rfc3339(clock_.now().wall) + " " + out + "\n";
  [[maybe_unused]] const ssize_t ignored = write(fd_.get(), out.data(), out.size());
}

}  // namespace orbit::runner
