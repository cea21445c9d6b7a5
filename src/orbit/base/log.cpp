#include "orbit/base/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace orbit::log {
namespace {

spdlog::logger& logger() {
  // Kept for the life of the process: threads may log while statics are destroyed.
  static auto* instance = [] {
    auto* made = new spdlog::logger("orbit", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void set_level(Level level) {
  logger().set_level(to_spdlog(level));
}
void write(Level level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace orbit::log
