// runtime/execution.log: what the runner did, in words for people (R12). Never a reason to fail: a line that cannot be
// written is lost.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "orbit/platform/files.hpp"
#include "orbit/ports/clock.hpp"

namespace orbit::runner {

class ExecutionLog {
 public:
  ExecutionLog(const std::filesystem::path& runtime, const Clock& clock);

  void line(std::string_view text);
  // The stream is complete: what is said from now on is dropped.
  void close() { fd_.reset(); }
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  platform::Fd fd_;
  const Clock& clock_;
};

}  // namespace orbit::runner
