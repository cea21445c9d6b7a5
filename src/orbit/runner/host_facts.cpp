#include "orbit/runner/host_facts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t text_limit_bytes = 256 * 1024;

std::optional<std::string> text_of(const fs::path& path) {
  auto text = platform::read_file(path, text_limit_bytes);
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// "535.104.05": digits and dots, at least one dot.
bool looks_like_version(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos &&
         word.find('.') != std::string_view::npos && word.front() != '.';
}

std::optional<std::string> first_version(std::string_view text) {
  for (const auto& line : split(text, '\n'))
    for (const auto& word : split(line, ' '))
      if (looks_like_version(word)) return word;
  return std::nullopt;
}

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

struct PythonAnswer {
  std::string version;
  std::map<std::string, std::string> packages;
};
BOOST_DESCRIBE_STRUCT(PythonAnswer, (), (version, packages))

}  // namespace

std::optional<std::string> os_version(const fs::path& root) {
  auto text = text_of(root / "etc/os-release");
  if (!text) text = text_of(root / "usr/lib/os-release");
  if (!text) return std::nullopt;
  std::string id, version;
  for (const auto& line : split(*text, '\n')) {
    if (line.starts_with("ID=")) id = unquoted(std::string_view(line).substr(3));
    if (line.starts_with("VERSION_ID=")) version = unquoted(std::string_view(line).substr(11));
  }
  if (id.empty()) return std::nullopt;
  return version.empty() ? id : id + " " + version;
}

std::optional<std::string> driver_version(const fs::path& root) {
  const auto text = text_of(root / "proc/driver/nvidia/version");
  if (!text) return std::nullopt;
  return first_version(*text);
}

std::optional<std::string> cuda_version(const fs::path& root) {
  if (const auto text = text_of(root / "usr/local/cuda/version.json")) {
    const auto value = json::parse(*text);
    if (value && value->is_object())
      if (const auto* cuda = value->get_object().if_contains("cuda"); cuda != nullptr && cuda->is_object())
        if (const auto* version = cuda->get_object().if_contains("version"); version != nullptr && version->is_string())
          return std::string(version->get_string());
  }
  if (const auto text = text_of(root / "usr/local/cuda/version.txt")) return first_version(*text);
  return std::nullopt;
}

Gpus gpus(const fs::path& root) {
  Gpus out;
  std::error_code error;
  for (fs::directory_iterator it(root / "proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    ++out.count;
    const auto text = text_of(it->path() / "information");
    if (!text) continue;
    for (const auto& line : split(*text, '\n')) {
      constexpr std::string_view key = "GPU UUID:";
      if (!line.starts_with(key)) continue;
      const std::size_t start = line.find_first_not_of(" \t", key.size());
      if (start != std::string::npos) out.uuids.push_back(line.substr(start));
    }
  }
  if (out.count > 0) return out;
  // Inside containers /proc/driver may be hidden while the devices are there.
  error.clear();
  for (fs::directory_iterator it(root / "dev", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    constexpr std::string_view prefix = "nvidia";
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        name.find_first_not_of("0123456789", prefix.size()) == std::string::npos)
      ++out.count;
  }
  return out;
}

Result<PythonFacts> python_facts(const std::map<std::string, std::string>& environment,
                                 const std::vector<std::string>& packages, int time_limit_ms) {
  const auto path = environment.find("PATH");
  const auto program = find_program("python3", path == environment.end() ? "" : path->second);
  if (!program)
    return fail(ErrorCode::not_found, "no python3 in the workload's PATH", "python",
                "install Python or set PATH in the template's runtime_env");
  platform::SpawnRequest request;
  request.argv = {*program, "-I", "-c",
                  "import sys, json, importlib.metadata as m\n"
                  "found = {}\n"
                  "for name in sys.argv[1:]:\n"
                  "    try: found[name] = m.version(name)\n"
                  "    except m.PackageNotFoundError: pass\n"
                  "print(json.dumps({'version': '.'.join(map(str, sys.version_info[:3])), 'packages': found}))\n"};
  request.argv.insert(request.argv.end(), packages.begin(), packages.end());
  request.directory = "/";
  request.environment = environment;
  ORBIT_TRY_ASSIGN(const std::string text, output_of(request, time_limit_ms));
  auto answer = json::decode<PythonAnswer>(text, json::From::ours);
  if (!answer) return fail(ErrorCode::io, "gave an answer that is not understood: " + answer.error().text(), *program);
  return PythonFacts{*program, std::move(answer->version), std::move(answer->packages)};
}

}  // namespace orbit::runner
