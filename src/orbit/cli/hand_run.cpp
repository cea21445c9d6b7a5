#include "orbit/cli/hand_run.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ostream>

#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/cli/bundle_build.hpp"
#include "orbit/cli/logs.hpp"
#include "orbit/cli/render.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/platform/system.hpp"

extern char** environ;

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t small_file_bytes = std::size_t{16} << 20;
constexpr std::size_t piece_bytes = 256 * 1024;
constexpr int most_copies = 10'000;

volatile std::sig_atomic_t interrupts = 0;
void count_interrupt(int) {
  interrupts = interrupts + 1;
}

class CountInterrupts {
 public:
  CountInterrupts() {
    interrupts = 0;
    struct sigaction action{};
    action.sa_handler = count_interrupt;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &before_);
  }
  ~CountInterrupts() { ::sigaction(SIGINT, &before_, nullptr); }
  CountInterrupts(const CountInterrupts&) = delete;
  CountInterrupts& operator=(const CountInterrupts&) = delete;

 private:
  struct sigaction before_{};
};

// Writes what a growing file has gained.
void pass_on(const fs::path& file, std::int64_t& offset, std::ostream& to) {
  while (true) {
    const auto bytes = platform::read_at(file, offset, piece_bytes);
    if (!bytes || bytes->empty()) break;  // not there yet, or nothing new
    to.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
    offset += static_cast<std::int64_t>(bytes->size());
  }
  to.flush();
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    // The runner needs no credential of the person who starts it, and must not pass one to the workload.
    if (equals == std::string::npos || text.compare(0, equals, "ORBIT_TOKEN") == 0) continue;
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

std::string describe(const RunnerResult& result) {
  if (result.failed_check) return fmt::format("{}: {}", json::name_of(*result.failed_check), escape(result.detail));
  std::string out;
  if (!result.workload_started)
    out = "the workload was not started";
  else if (result.exit_code)
    out = fmt::format("exit code {}", *result.exit_code);
  else if (result.signal)
    out = fmt::format("ended by signal {}", *result.signal);
  else
    out = "how it ended is not known";
  if (result.timed_out) out += ", time limit reached";
  if (result.stop_requested) out += ", stopped on request";
  if (result.host_oom) out += ", out of memory";
  if (result.disk_full) out += ", no room left on the disk";
  for (const std::string& path : result.missing_outputs) out += ", output missing: " + escape(path);
  if (result.collect_error) out += ", " + escape(*result.collect_error);
  return out;
}

}  // namespace

bool succeeded(const RunnerResult& result) {
  return result.workload_started && result.exit_code == 0 && !result.stop_requested && !result.timed_out &&
         !result.failed_check && result.missing_outputs.empty() && !result.collect_error;
}

Result<fs::path> copy_for_another_run(const fs::path& directory) {
  fs::path from = directory.lexically_normal();
  if (!from.has_filename()) from = from.parent_path();
  ORBIT_TRY_ASSIGN(const std::string text, platform::read_file(from / "bundle.json", bundle::max_manifest_bytes));
  ORBIT_TRY_ASSIGN(const BundleManifest manifest, bundle::parse_manifest(text));
  fs::path to;
  std::error_code failure;
  for (int number = 2; to.empty() && number < most_copies; ++number) {
    const fs::path candidate = from.string() + "-" + std::to_string(number);
    if (fs::symlink_status(candidate, failure).type() == fs::file_type::not_found) to = candidate;
  }
  if (to.empty()) return fail(ErrorCode::exhausted, "has too many copies beside it", from.string(), "remove some");
  ORBIT_TRY_ASSIGN(const auto work, platform::TempDirectory::make(from.parent_path(), ".orbit-bundle-"));
  const fs::path half = work.path() / "bundle";
  ORBIT_TRY(platform::make_directories(half / "runtime"));
  ORBIT_TRY(platform::make_directories(half / "artifacts"));
  for (const FileEntry& entry : manifest.files) {
    ORBIT_TRY(platform::make_directories((half / entry.path).parent_path()));
    ORBIT_TRY(platform::copy_file(from / entry.path, half / entry.path, entry.executable ? 0755 : 0644));
  }
  ORBIT_TRY(platform::write_file(half / "bundle.json", text, 0644));
  if (fs::exists(from / hand_request_file, failure))
    ORBIT_TRY(platform::copy_file(from / hand_request_file, half / hand_request_file, 0644));
  ORBIT_TRY(platform::rename_path(half, to));
  return to;
}

Result<Order> write_hand_order(const fs::path& directory, WallTime now) {
  const fs::path file = directory / "runtime" / "order.json";
  std::error_code failure;
  if (fs::symlink_status(file, failure).type() != fs::file_type::not_found)
    return fail(ErrorCode::conflict, "was run before: its runtime/ and artifacts/ belong to that attempt",
                directory.string(), "--again runs a fresh copy beside it");
  HandRequest hand;
  auto text = platform::read_file(directory / hand_request_file, small_file_bytes);
  if (text) {
    ORBIT_TRY_ASSIGN(hand, json::decode<HandRequest>(*text, json::From::ours));
  } else if (text.error().code != ErrorCode::not_found) {
    return fail(std::move(text).error());
  }
  platform::SystemRng rng;
  Order order;
  order.attempt = make_id<AttemptId>(rng, now);
  order.run = make_id<RunId>(rng, now);
  order.number = 1;
  order.epoch = 1;
  order.project = hand.project;
  ORBIT_TRY_ASSIGN(order.bundle, digest_of_bundle(directory));
  order.launch = hand.request.launch;
  order.image = hand.request.values.image;
  order.resources = hand.request.values.resources;
  order.runtime_env = hand.request.values.runtime_env;
  order.stop_grace_s = hand.request.values.stop_grace_s;
  ORBIT_TRY(platform::make_directories(directory / "runtime"));
  ORBIT_TRY(platform::make_directories(directory / "artifacts"));
  ORBIT_TRY(platform::write_file_durably(file, json::encode(order), 0644));
  return order;
}

Result<int> hand_run(Context& context, const fs::path& directory) {
  platform::SpawnRequest request;
  request.argv = {platform::own_program(), "runner", directory.string()};
  request.directory = directory;
  request.environment = own_environment();
  request.stderr_fd = STDERR_FILENO;
  request.new_session = true;  // Ctrl-C is ours to translate: the runner ends the workload in order
  const CountInterrupts guard;
  ORBIT_TRY_ASSIGN(const pid_t runner, platform::spawn(request));

  std::ostream& output = context.json() ? context.err : context.out;
  std::int64_t out_offset = 0;
  std::int64_t err_offset = 0;
  bool stop_asked = false;
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(runner, &status, WNOHANG);
    pass_on(directory / "artifacts" / "stdout", out_offset, output);
    pass_on(directory / "artifacts" / "stderr", err_offset, context.err);
    if (ended == runner || (ended < 0 && errno != EINTR)) break;
    if (interrupts > 0 && !stop_asked) {
      stop_asked = true;
      const StopOrder stop{"hand", context.now()};
      ORBIT_TRY(platform::write_file_durably(directory / "runtime" / "stop.json", json::encode(stop), 0644));
      context.note("asked it to end; Ctrl-C again leaves it alone");
    }
    if (interrupts > 1) {
      context.note("left alone; its result will be in " + (directory / "runtime" / "result.json").string());
      return 130;
    }
    ::poll(nullptr, 0, 50);
  }

  auto text = platform::read_file(directory / "runtime" / "result.json", small_file_bytes);
  if (!text) {
    Error error = std::move(text).error();
    error.message = "the runner ended without a result: " + error.message;
    error.code = ErrorCode::internal;
    error.hint = "see " + (directory / "runtime" / "execution.log").string();
    return fail(std::move(error));
  }
  ORBIT_TRY_ASSIGN(const auto result, json::decode<RunnerResult>(*text, json::From::ours));
  const bool ok = succeeded(result);
  if (context.json()) {
    context.print_json(*text);
  } else {
    const bool colour = context.terminal.colour_err;
    context.err << (ok ? paint("succeeded", Colour::green, colour) : paint("failed", Colour::red, colour)) << ": "
                << describe(result) << "\nartifacts: " << escape((directory / "artifacts").string())
                << "\nhow it went: " << escape((directory / "runtime" / "execution.log").string()) << "\n";
  }
  return ok ? 0 : 1;
}

}  // namespace orbit::cli
