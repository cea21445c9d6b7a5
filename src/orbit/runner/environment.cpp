#include "orbit/runner/environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "orbit/base/text.hpp"

namespace orbit::runner {
namespace {

std::string home() {
  if (const char* set = std::getenv("HOME"); set != nullptr && *set == '/') return set;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && *found->pw_dir == '/')
    return found->pw_dir;
  return "/";
}

}  // namespace

Result<std::map<std::string, std::string>> workload_environment(const Order& order,
                                                                const std::filesystem::path& directory) {
  std::map<std::string, std::string> out{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", home()},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      // A __pycache__ below the inputs would be a change of the bundle.
      {"PYTHONDONTWRITEBYTECODE", "1"},
      {"ORBIT_ATTEMPT_ID", order.attempt.str()},
      {"ORBIT_RUN_ID", order.run.str()},
      {"ORBIT_PROJECT", order.project},
      {"ORBIT_BUNDLE", directory.string()},
      {"ORBIT_ARTIFACTS", (directory / "artifacts").string()},
      {"ORBIT_PARAMS_FILE", (directory / "runtime" / "params.json").string()},
  };
  if (order.resume) out["ORBIT_RESUME_FROM"] = (directory / "artifacts" / "resume").string();
  // Empty: sees no card. Unset only where cards are asked for and nobody chose which.
  if (order.resources.gpus == 0 || !order.gpu_uuids.empty()) out["CUDA_VISIBLE_DEVICES"] = join(order.gpu_uuids, ",");
  for (const auto& [name, value] : order.runtime_env) {
    const auto refuse = [&](std::string why, std::string hint) {
      return fail(ErrorCode::invalid_argument, std::move(why), "runtime_env." + to_valid_utf8(name), std::move(hint));
    };
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos ||
        value.find('\0') != std::string::npos)
      return refuse("is no environment variable", "names hold no '=', and neither name nor value a NUL");
    if (name.starts_with("ORBIT_")) return refuse("is Orbit's own", "choose a name that does not begin with ORBIT_");
    out[name] = value;
  }
  return out;
}

}  // namespace orbit::runner
