#include "orbit/bundle/git.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "orbit/base/text.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::bundle {
namespace {

constexpr std::size_t max_output_bytes = 256UL << 20;
constexpr std::size_t max_error_bytes = 4096;

// Where to look for programs, how to reach the network, whose keys: of the caller's environment this is all that git
// may see.
constexpr std::array passed_on{"PATH",        "HOME",        "SSH_AUTH_SOCK", "http_proxy",
                               "https_proxy", "HTTPS_PROXY", "all_proxy",     "ALL_PROXY",
                               "no_proxy",    "NO_PROXY",    "SSL_CERT_FILE", "SSL_CERT_DIR"};

std::map<std::string, std::string> scrubbed_environment() {
  std::map<std::string, std::string> out{
      {"LC_ALL", "C"},
      {"GIT_CONFIG_NOSYSTEM", "1"},
      {"GIT_CONFIG_GLOBAL", "/dev/null"},
      {"GIT_ATTR_NOSYSTEM", "1"},
      {"XDG_CONFIG_HOME", "/dev/null"},  // the user's ignore and attributes files
      {"GIT_ALLOW_PROTOCOL", "https:ssh:file"},
      {"GIT_TERMINAL_PROMPT", "0"},
      {"GIT_ASKPASS", "false"},
      {"GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15"},
      {"GIT_OPTIONAL_LOCKS", "0"},
      {"GIT_LITERAL_PATHSPECS", "1"},
      {"GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"},
      {"GIT_NO_REPLACE_OBJECTS", "1"},
  };
  for (const char* name : passed_on)
    if (const char* value = std::getenv(name)) out[name] = value;
  return out;
}

// Settings of the repository itself that would run its programs, or make one commit look different in two clones.
constexpr std::array settings{
    "core.hooksPath=/dev/null",     "core.fsmonitor=false", "core.quotePath=true",     "diff.external=",
    "http.lowSpeedLimit=1000",      "http.lowSpeedTime=60", "submodule.recurse=false", "gc.auto=0",
    "advice.addEmbeddedRepo=false", "core.compression=-1",
};

Result<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    if (directory.empty() || directory[0] != '/') continue;
    std::string candidate = directory + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return fail(ErrorCode::unsupported, "the git command is not installed", "source", "apt-get install git");
}

Result<std::string> read_to_end(int fd) {
  std::string out;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read what git says");
    if (got == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(got));
    if (out.size() > max_output_bytes)
      return fail(ErrorCode::too_large, fmt::format("git says more than {} bytes", max_output_bytes));
  }
}

std::string first_words(int fd) {
  std::string text(max_error_bytes, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    if (!out.empty()) out += "; ";
    out += printable(line);
  }
  return out;
}

}  // namespace

Result<Git> Git::find() {
  Git git;
  ORBIT_TRY_ASSIGN(git.program_, find_program("git"));
  return git;
}

Result<bool> Git::adopt_trust() {
  std::map<std::string, std::string> environment{{"LC_ALL", "C"}};
  for (const char* name : {"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"})
    if (const char* value = std::getenv(name)) environment[name] = value;
  for (const char* scope : {"--system", "--global"}) {
    GitCall call;
    call.arguments = {"config", scope, "-z", "--get-all", "safe.directory"};
    call.directory = "/";
    ORBIT_TRY_ASSIGN(const GitAnswer answer, ask_with(call, environment));
    if (answer.exit_code != 0) continue;  // no such file or no such key
    for (std::string& value : split(answer.out, '\0'))
      if (!value.empty()) trusted_.push_back("safe.directory=" + value);
  }
  return !trusted_.empty();
}

Result<GitAnswer> Git::ask(const GitCall& call) const {
  return ask_with(call, scrubbed_environment());
}

Result<GitAnswer> Git::ask_with(const GitCall& call, std::map<std::string, std::string> environment) const {
  platform::SpawnRequest request;
  request.argv = {program_, "--no-pager"};
  std::vector<std::string> all(settings.begin(), settings.end());
  all.insert(all.end(), trusted_.begin(), trusted_.end());
  for (std::string& setting : all) {
    request.argv.emplace_back("-c");
    request.argv.push_back(std::move(setting));
  }
  request.argv.insert(request.argv.end(), call.arguments.begin(), call.arguments.end());
  request.directory = call.directory;
  request.environment = std::move(environment);
  for (const auto& [name, value] : call.environment) request.environment[name] = value;
  request.new_session = false;  // Ctrl-C ends git with us

  int ends[2] = {-1, -1};
  if (call.stdout_fd < 0 && ::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
  platform::Fd from(ends[0]);
  platform::Fd to(ends[1]);
  const platform::Fd errors(::memfd_create("git-stderr", MFD_CLOEXEC));
  if (!errors) return fail_errno(errno, "cannot make a file in memory");
  request.stdin_fd = call.stdin_fd;
  request.stdout_fd = call.stdout_fd >= 0 ? call.stdout_fd : to.get();
  request.stderr_fd = errors.get();
  ORBIT_TRY_ASSIGN(const pid_t pid, platform::spawn(request));
  to.reset();

  Result<std::string> out = std::string();
  if (from) out = call.read ? call.read(from.get()) : read_to_end(from.get());
  from.reset();  // if we stopped early git ends by SIGPIPE
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return fail_errno(errno, "cannot wait for git");
  GitAnswer answer;
  answer.err = first_words(errors.get());
  if (!out) return fail(std::move(out).error());
  answer.out = std::move(*out);
  if (WIFSIGNALED(status))
    return fail(ErrorCode::io, fmt::format("git {} was ended by signal {}", call.arguments.front(), WTERMSIG(status)),
                "source");
  answer.exit_code = WEXITSTATUS(status);
  return answer;
}

Result<std::string> Git::run(const GitCall& call) const {
  ORBIT_TRY_ASSIGN(GitAnswer answer, ask(call));
  if (answer.exit_code == 0) return std::move(answer.out);
  std::string hint;
  if (answer.err.find("dubious ownership") != std::string::npos)
    hint =
        "the repository belongs to another user: submit as its owner, or trust it with git config --global --add "
        "safe.directory PATH";
  return fail(ErrorCode::io,
              fmt::format("git {} failed: {}", call.arguments.front(),
                          answer.err.empty() ? fmt::format("exit code {}", answer.exit_code) : answer.err),
              "source", hint);
}

}  // namespace orbit::bundle
