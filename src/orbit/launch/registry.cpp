#include <array>

#include "orbit/base/json.hpp"
#include "orbit/launch/host_process.hpp"
#include "orbit/launch/launcher.hpp"

namespace orbit::launch {
namespace {

struct Entry {
  LaunchMode mode;
  std::unique_ptr<Launcher> (*make)();
};

// The one place that knows which modes there are. A new mode is a line here and a file beside this one.
constexpr std::array registry{
    Entry{LaunchMode::host_process, make_host_process},
};

}  // namespace

Result<std::unique_ptr<Launcher>> make_launcher(LaunchMode mode) {
  std::vector<std::string> known;
  for (const auto& entry : registry) {
    if (entry.mode == mode) return entry.make();
    known.emplace_back(json::name_of(entry.mode));
  }
  return fail(ErrorCode::unsupported, fmt::format("launch mode '{}' is not supported here", json::name_of(mode)),
              "launch", "launch modes here: " + join(known, ", "));
}

}  // namespace orbit::launch
