#include "orbit/runner/python.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/runner/embedded.hpp"

namespace orbit::runner {
namespace {

constexpr std::size_t text_limit_bytes = 256 * 1024;

std::int64_t mono_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

// Output of a short-lived program; ended when it takes too long or says too much.
Result<std::string> output_of(const platform::SpawnRequest& request, int time_limit_ms) {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno(errno, "a pipe cannot be made");
  const platform::Fd from(fds[0]);
  platform::Fd to(fds[1]);
  platform::SpawnRequest piped = request;
  piped.stdout_fd = to.get();
  ORBIT_TRY_ASSIGN(const pid_t pid, platform::spawn(piped));
  to.reset();
  std::string out;
  const std::int64_t deadline = mono_ms() + time_limit_ms;
  bool complete = false;
  while (!complete && out.size() <= text_limit_bytes) {
    const std::int64_t left = deadline - mono_ms();
    pollfd poll_for{from.get(), POLLIN, 0};
    if (left <= 0 || poll(&poll_for, 1, static_cast<int>(left)) == 0) break;
    std::array<char, 4096> buffer;
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      complete = true;
    else
      out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  // It is a session of its own: also what it started goes.
  if (!complete) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!complete)
    return fail(ErrorCode::unavailable, fmt::format("gave no answer within {} s", time_limit_ms / 1000),
                request.argv[0]);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(ErrorCode::io, "ended with an error", request.argv[0]);
  return out;
}

std::optional<std::string> find_program(const std::string& name, const std::string& path) {
  for (const auto& directory : split(path, ':')) {
    if (directory.empty() || directory.front() != '/') continue;
    const std::string candidate = directory + "/" + name;
    struct stat stat{};
    if (::stat(candidate.c_str(), &stat) == 0 && S_ISREG(stat.st_mode) && access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return std::nullopt;
}

std::string probe(std::string_view stem) {
  for (const EmbeddedFile& file : embedded_probes())
    if (file.stem == stem) return file.text;
  ORBIT_ASSERT(false);
  return {};
}

Result<std::string> interpreter(const std::map<std::string, std::string>& environment) {
  const auto path = environment.find("PATH");
  auto program = find_program("python3", path == environment.end() ? "" : path->second);
  if (!program)
    return fail(ErrorCode::not_found, "no python3 in the workload's PATH", "python",
                "install Python or set PATH in the template's runtime_env");
  return std::move(*program);
}

struct PythonAnswer {
  std::string version;
  std::map<std::string, std::string> packages;
};
BOOST_DESCRIBE_STRUCT(PythonAnswer, (), (version, packages))

}  // namespace

Result<PythonFacts> python_facts(const std::map<std::string, std::string>& environment,
                                 const std::vector<std::string>& packages, int time_limit_ms) {
  ORBIT_TRY_ASSIGN(const std::string program, interpreter(environment));
  platform::SpawnRequest request;
  request.argv = {program, "-I", "-c", probe("packages")};
  request.argv.insert(request.argv.end(), packages.begin(), packages.end());
  request.directory = "/";
  request.environment = environment;
  ORBIT_TRY_ASSIGN(const std::string text, output_of(request, time_limit_ms));
  auto answer = json::decode<PythonAnswer>(text, json::From::ours);
  if (!answer) return fail(ErrorCode::io, "gave an answer that is not understood: " + answer.error().text(), program);
  return PythonFacts{program, std::move(answer->version), std::move(answer->packages)};
}

Result<StagedCode> staged_code(const std::map<std::string, std::string>& environment, const std::filesystem::path& code,
                               const std::string& entry, int time_limit_ms) {
  ORBIT_TRY_ASSIGN(const std::string program, interpreter(environment));
  platform::SpawnRequest request;
  request.argv = {program, "-c", probe("staged_code"), code.string(), (code / entry).parent_path().string()};
  request.directory = "/";
  request.environment = environment;
  ORBIT_TRY_ASSIGN(const std::string text, output_of(request, time_limit_ms));
  auto answer = json::decode<StagedCode>(text, json::From::ours);
  if (!answer) return fail(ErrorCode::io, "gave an answer that is not understood: " + answer.error().text(), program);
  return std::move(*answer);
}

}  // namespace orbit::runner
