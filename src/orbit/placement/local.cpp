#include "orbit/placement/local.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "orbit/base/json.hpp"
#include "orbit/base/log.hpp"
#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/placement/runtime_state.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"

namespace orbit::placement {
namespace {

namespace fs = std::filesystem;
using platform::FileLock;

// So long a runner may take from its start to its lock; one that lives longer without it is no reason not to start
// another: the lock decides.
constexpr std::int64_t spawn_grace_ms = 30'000;

struct Handle {
  std::string directory;  // below the attempts root
};
BOOST_DESCRIBE_STRUCT(Handle, (), (directory))

bool is_not_found(const Error& error) {
  return error.code == ErrorCode::not_found;
}

// A whole file of ours: nothing when it does not exist, an error when it is larger than the limit.
Result<std::optional<std::string>> read_whole(const fs::path& directory, const std::string& relative,
                                              std::size_t limit_bytes) {
  auto bytes = platform::read_beneath(directory, relative, 0, limit_bytes + 1);
  if (!bytes) {
    if (is_not_found(bytes.error())) return std::nullopt;
    return fail(std::move(bytes).error());
  }
  if (bytes->size() > limit_bytes)
    return fail(ErrorCode::corrupt, fmt::format("is larger than {} bytes", limit_bytes), relative);
  return std::optional(std::move(*bytes));
}

bool present(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// The runner inherits nothing but what any program may expect: no credential of the server reaches a workload.
std::map<std::string, std::string> scrubbed_environment() {
  std::map<std::string, std::string> out{{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}};
  for (const char* name : {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"})
    if (const char* value = std::getenv(name)) out[name] = value;
  return out;
}

std::string artifact_path(const std::string& path) {
  return "artifacts/" + path;
}

// Creates the directories of `relative` below `root`, which is fresh and ours.
Result<void> make_parents(const fs::path& root, const fs::path& relative) {
  return platform::make_directories(relative.has_parent_path() ? root / relative.parent_path() : root);
}

}  // namespace

LocalPlacement::LocalPlacement(fs::path attempts_root, BlobStore& blobs, std::string runner_program, Clock& clock)
    : root_(std::move(attempts_root)), blobs_(blobs), runner_program_(std::move(runner_program)), clock_(clock) {}

Result<fs::path> LocalPlacement::directory_of(const std::string& handle) const {
  auto parsed = json::decode<Handle>(handle, json::From::ours);
  if (!parsed || !is_ulid(parsed->directory))
    return fail(ErrorCode::corrupt, "is not a handle of the local placement", "handle");
  fs::path directory = root_ / parsed->directory;
  struct stat status{};
  if (::lstat(directory.c_str(), &status) != 0) return fail_errno(errno, "cannot look at", directory.string());
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::corrupt, "is not a directory", directory.string());
  return directory;
}

Result<std::string> LocalPlacement::provision(const AttemptId& attempt, const ExecutionRequest&) {
  if (attempt.empty()) return fail(ErrorCode::invalid_argument, "an attempt without an id has no place", "attempt");
  const fs::path directory = root_ / attempt.str();
  ORBIT_TRY(platform::make_directories(directory));
  ORBIT_TRY(platform::sync_directory(root_));
  return json::encode(Handle{attempt.str()});
}

Result<void> LocalPlacement::bring_checkpoint(const fs::path& directory, const ResumeFrom& resume) const {
  const std::string field = "resume.checkpoint";
  ORBIT_TRY(bundle::check_path(resume.checkpoint, field));
  const fs::path source = root_ / resume.attempt.str() / "artifacts";
  const fs::path target = directory / "artifacts" / "resume";

  auto files = bundle::list_files(source, resume.checkpoint);
  if (!files) {
    if (!is_not_found(files.error())) return fail(std::move(files).error());
    return fail(ErrorCode::not_found,
                fmt::format("checkpoint '{}' of attempt {} is gone", resume.checkpoint, resume.attempt.str()), field,
                "resume from another checkpoint, or rerun");
  }
  const auto changed = [&](const Digest& found) {
    return fail(ErrorCode::corrupt,
                fmt::format("checkpoint '{}' of attempt {} has changed since it was announced: digest {}, expected {}",
                            resume.checkpoint, resume.attempt.str(), found.hex(), resume.sha256.hex()),
                field, "resume from another checkpoint");
  };
  if (const Digest found = bundle::digest_of_list(*files); found != resume.sha256) return changed(found);

  // A half-made copy of an earlier try goes first.
  ORBIT_TRY(platform::remove_tree(target));
  ORBIT_TRY(platform::make_directories(target));
  std::map<std::string, bool> directories{{target.string(), true}};
  for (const FileEntry& file : *files) {
    const fs::path to = target / file.path;
    ORBIT_TRY(make_parents(target, file.path));
    ORBIT_TRY(platform::copy_file(source / resume.checkpoint / file.path, to, file.executable ? 0755 : 0644));
    ORBIT_TRY(platform::sync_file(to));
    for (fs::path parent = to.parent_path(); parent != target; parent = parent.parent_path())
      directories[parent.string()] = true;
  }
  for (const auto& [path, needed] : directories) ORBIT_TRY(platform::sync_directory(path));
  ORBIT_TRY(platform::sync_directory(target.parent_path()));

  // The copy is what counts: something may have changed between looking and copying.
  ORBIT_TRY_ASSIGN(const auto copied, bundle::list_files(directory / "artifacts", "resume"));
  if (const Digest found = bundle::digest_of_list(copied); found != resume.sha256) {
    ORBIT_TRY(platform::remove_tree(target));
    return changed(found);
  }
  return {};
}

Result<bool> LocalPlacement::runner_lives(const fs::path& directory) {
  ORBIT_TRY_ASSIGN(const bool held, FileLock::is_held(directory / "runtime" / "lock"));
  const std::lock_guard guard(mutex_);
  const auto it = spawned_.find(directory.filename().string());
  if (held || it == spawned_.end()) return held;
  if (clock_.now().mono.ms - it->second.at.ms < spawn_grace_ms && platform::is_alive(it->second.process)) return true;
  spawned_.erase(it);
  return false;
}

Result<void> LocalPlacement::start(const std::string& handle, const StartRequest& request) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  const std::string name = directory.filename().string();
  if (request.order.attempt.str() != name)
    return fail(ErrorCode::invalid_argument, "the order is for another attempt than the handle", "order.attempt");

  // Two starts of one attempt at once would write over each other's files.
  {
    const std::lock_guard guard(mutex_);
    if (!starting_.insert(name).second)
      return fail(ErrorCode::unavailable, "the attempt is being started already", name);
  }
  auto done = start_alone(directory, request);
  const std::lock_guard guard(mutex_);
  starting_.erase(name);
  return done;
}

Result<void> LocalPlacement::start_alone(const fs::path& directory, const StartRequest& request) {
  const fs::path runtime = directory / "runtime";
  ORBIT_TRY_ASSIGN(const bool lives, runner_lives(directory));
  if (lives || present(runtime / "result.json")) return {};

  // The order is the last thing written before a runner starts: where there is one, bundle and checkpoint are complete.
  ORBIT_TRY_ASSIGN(const auto old_text, read_whole(directory, "runtime/order.json", max_order_bytes));
  std::optional<Order> old;
  if (old_text) {
    ORBIT_TRY_ASSIGN(old, parse_order(*old_text, request.order.attempt));
    if (old->epoch > request.order.epoch)
      return fail(ErrorCode::conflict,
                  fmt::format("epoch {} of this attempt is outdated: {} was started", request.order.epoch, old->epoch),
                  "order.epoch");
  } else {
    ORBIT_TRY(bundle::materialise(request.bundle, blobs_, directory));
    if (request.order.resume) ORBIT_TRY(bring_checkpoint(directory, *request.order.resume));
  }
  if (!old || old->epoch < request.order.epoch)
    ORBIT_TRY(platform::write_file_durably(runtime / "order.json", json::encode(request.order), 0644));
  ORBIT_TRY_ASSIGN(const auto stop, read_whole(root_, early_stop(directory).filename().string(), max_order_bytes));
  if (stop && !present(runtime / "stop.json"))
    ORBIT_TRY(platform::write_file_durably(runtime / "stop.json", *stop, 0644));
  return spawn_runner(directory);
}

Result<void> LocalPlacement::spawn_runner(const fs::path& directory) {
  const fs::path log_file = directory / "runtime" / "runner.log";
  const platform::Fd log(
      ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!log) return fail_errno(errno, "cannot open the runner's log", log_file.string());

  platform::SpawnRequest spawn;
  spawn.argv = {runner_program_, "runner", directory.string()};
  spawn.directory = directory;
  spawn.environment = scrubbed_environment();
  spawn.stdout_fd = log.get();
  spawn.stderr_fd = log.get();
  ORBIT_TRY_ASSIGN(ProcessIdentity process, platform::spawn_detached(spawn));
  const std::lock_guard guard(mutex_);
  spawned_[directory.filename().string()] = Spawned{std::move(process), clock_.now().mono};
  return {};
}

Result<Observation> LocalPlacement::observe(const std::string& handle, std::int64_t after_journal_seq) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  ORBIT_TRY_ASSIGN(const AttemptId attempt, AttemptId::parse(directory.filename().string()));
  Observation out;
  // Life first: what a runner found dead had to say is on disk by now, so that "dead without a result" is the truth.
  ORBIT_TRY_ASSIGN(const bool lives, runner_lives(directory));
  out.runner = lives ? RunnerLiveness::alive : RunnerLiveness::dead;

  ORBIT_TRY_ASSIGN(const auto order, read_whole(directory, "runtime/order.json", max_order_bytes));
  if (order) {
    ORBIT_TRY_ASSIGN(const Order parsed_order, parse_order(*order, attempt));
    out.epoch = parsed_order.epoch;
  }
  // The result before the journal: what is said in it has its records, not the other way round.
  ORBIT_TRY_ASSIGN(const auto result, read_whole(directory, "runtime/result.json", max_result_bytes));
  if (result) {
    ORBIT_TRY_ASSIGN(out.result, parse_result(*result, attempt));
    // The result speaks for itself, also when somebody removed what was written before it.
    out.started = true;
    if (!order) out.epoch = out.result->epoch;
  }
  if (!order) return out;
  ORBIT_TRY_ASSIGN(const auto bytes, read_whole(directory, "runtime/journal.jsonl", max_journal_bytes));
  if (!bytes) return out;
  out.started = true;
  Journal journal = parse_journal(*bytes, after_journal_seq);
  if (journal.damage && lives) return fail(std::move(*journal.damage));
  // What is told is on disk, so that no crash of the machine takes back what was acted upon.
  if (!journal.records.empty()) {
    ORBIT_TRY_ASSIGN(const platform::Fd fd, platform::open_beneath(directory, "runtime/journal.jsonl"));
    ORBIT_TRY(platform::sync_fd(fd.get(), directory / "runtime" / "journal.jsonl"));
  }
  out.journal = std::move(journal.records);
  return out;
}

fs::path LocalPlacement::early_stop(const fs::path& directory) const {
  return root_ / (directory.filename().string() + ".stop.json");
}

Result<void> LocalPlacement::end_unsupervised(const std::string& name) {
  ORBIT_TRY_ASSIGN(const AttemptId attempt, AttemptId::parse(name));
  platform::ProcessTree workload = platform::ProcessTree::for_attempt(attempt);
  ORBIT_TRY_ASSIGN(const int ended, workload.kill_all({}));
  workload.remove();
  if (ended > 0)
    log::warning("attempt {}: its directory was lost; {} of its workload ended", name, counted(ended, "process"));
  return {};
}

Result<void> LocalPlacement::stop(const std::string& handle, const StopOrder& order) {
  const auto there = directory_of(handle);
  if (!there && there.error().code == ErrorCode::not_found) {
    // Nobody can read a stop order there, but what the attempt started may live on: it is found by its mark.
    ORBIT_TRY_ASSIGN(const Handle place, json::decode<Handle>(handle, json::From::ours));
    return end_unsupervised(place.directory);
  }
  ORBIT_TRY_ASSIGN(const fs::path directory, there);
  // Until the order is written, the directory is still being filled, and what is found there may be cleared away.
  const std::string text = json::encode(order);
  const fs::path order_file = directory / "runtime" / "order.json";
  if (!present(order_file)) {
    // No order: nothing was started yet, or somebody removed it from under a workload.
    ORBIT_TRY(end_unsupervised(directory.filename().string()));
    if (!present(early_stop(directory))) ORBIT_TRY(platform::write_file_durably(early_stop(directory), text, 0644));
    if (!present(order_file)) return {};  // whoever writes the order now finds it
  }
  const fs::path file = directory / "runtime" / "stop.json";
  if (!present(file)) ORBIT_TRY(platform::write_file_durably(file, text, 0644));
  return make_obeyed(directory);
}

// A stop order that nobody reads ends nothing: where the runner is dead and the workload may live, one more runner sees
// to it.
Result<void> LocalPlacement::make_obeyed(const fs::path& directory) {
  {
    const std::lock_guard guard(mutex_);
    if (starting_.contains(directory.filename().string())) return {};  // its runner will find the order
  }
  if (present(directory / "runtime" / "result.json")) return {};
  ORBIT_TRY_ASSIGN(const bool lives, runner_lives(directory));
  if (lives) return {};
  return spawn_runner(directory);
}

Result<std::string> LocalPlacement::read_log(const std::string& handle, Stream stream, std::int64_t offset,
                                             std::size_t max_bytes) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  const std::string file =
      stream == Stream::execution ? "runtime/execution.log" : artifact_path(std::string(stream_name(stream)));
  auto bytes = platform::read_beneath(directory, file, offset, max_bytes);
  if (!bytes && is_not_found(bytes.error())) return std::string();  // nothing was said yet
  if (!bytes) bytes.error().field = stream_name(stream);
  return bytes;
}

Result<std::string> LocalPlacement::read_artifact(const std::string& handle, const std::string& path,
                                                  std::int64_t offset, std::size_t max_bytes) {
  ORBIT_TRY(bundle::check_path(path, "path"));
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  auto bytes = platform::read_beneath(directory, artifact_path(path), offset, max_bytes);
  if (!bytes) bytes.error().field = path;  // not the server's own directories
  return bytes;
}

Result<ArtifactManifest> LocalPlacement::list_artifacts(const std::string& handle) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  if (present(directory / "runtime" / "result.json")) {
    ORBIT_TRY_ASSIGN(const auto text, read_whole(directory, "runtime/artifacts.json", bundle::max_manifest_bytes));
    if (text) return bundle::parse_artifact_manifest(*text);
  }
  if (!present(directory / "artifacts")) return ArtifactManifest{};
  return bundle::list_artifacts(directory / "artifacts", true);
}

Result<std::string> LocalPlacement::read_manifest(const std::string& handle) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  ORBIT_TRY_ASSIGN(auto text, read_whole(directory, "runtime/artifacts.json", bundle::max_manifest_bytes));
  if (!text) return fail(ErrorCode::not_found, "the runner has written no manifest", "runtime/artifacts.json");
  return std::move(*text);
}

Result<std::map<std::string, std::string>> LocalPlacement::verify_artifacts(const std::string& handle,
                                                                            const ArtifactManifest& manifest) {
  ORBIT_TRY_ASSIGN(const fs::path directory, directory_of(handle));
  // One walk that follows no link gives kinds, modes, sizes and the targets of links; digests come from what is opened
  // beneath.
  std::map<std::string, Artifact> found;
  if (present(directory / "artifacts")) {
    ORBIT_TRY_ASSIGN(ArtifactManifest now, bundle::list_artifacts(directory / "artifacts", true));
    for (Artifact& artifact : now.artifacts) {
      std::string path = artifact.path;
      found.emplace(std::move(path), std::move(artifact));
    }
  }
  std::map<std::string, std::string> problems;
  for (const Artifact& wanted : manifest.artifacts) {
    ORBIT_TRY_ASSIGN(const std::string problem, check_artifact(directory, wanted, found));
    if (!problem.empty()) problems.emplace(wanted.path, problem);
  }
  return problems;
}

Result<std::string> LocalPlacement::check_artifact(const fs::path& directory, const Artifact& wanted,
                                                   const std::map<std::string, Artifact>& found) const {
  const auto it = found.find(wanted.path);
  if (it == found.end()) {
    const auto fd = platform::open_beneath(directory, artifact_path(wanted.path));
    return fd || is_not_found(fd.error()) ? "missing" : fd.error().message;  // a FIFO now, or behind a link
  }
  const Artifact& now = it->second;
  if (now.kind != wanted.kind)
    return fmt::format("is a {}, expected a {}", json::name_of(now.kind), json::name_of(wanted.kind));
  if (wanted.kind == ArtifactKind::symlink) {
    if (now.target == wanted.target) return std::string();
    return fmt::format("points to '{}', expected '{}'", to_valid_utf8(now.target.value_or("")),
                       to_valid_utf8(wanted.target.value_or("")));
  }
  if (now.size_bytes != wanted.size_bytes)
    return fmt::format("changed: {} bytes, expected {}", now.size_bytes, wanted.size_bytes);
  if (now.mode != wanted.mode) return fmt::format("mode {:04o}, expected {:04o}", now.mode, wanted.mode);
  auto fd = platform::open_beneath(directory, artifact_path(wanted.path));
  if (!fd) {
    // The machine that has no descriptors left says nothing about the file.
    if (fd.error().code == ErrorCode::exhausted) return fail(std::move(fd).error());
    return fd.error().message;
  }
  auto digest = platform::digest_of_fd(fd->get());
  if (!digest) return digest.error().message;
  if (*digest != wanted.sha256)
    return fmt::format("changed: digest {}, expected {}", digest->hex(), wanted.sha256.hex());
  return std::string();
}

Result<void> LocalPlacement::release(const std::string& handle) {
  auto directory = directory_of(handle);
  if (!directory) {
    if (is_not_found(directory.error())) return {};
    return fail(std::move(directory).error());
  }
  ORBIT_TRY_ASSIGN(const bool lives, runner_lives(*directory));
  if (lives) return fail(ErrorCode::unavailable, "the runner still lives", directory->string(), "it is stopped first");
  ORBIT_TRY(platform::remove_tree(*directory / "runtime" / "lock"));
  ORBIT_TRY(platform::remove_tree(early_stop(*directory)));
  const std::lock_guard guard(mutex_);
  spawned_.erase(directory->filename().string());
  return {};
}

}  // namespace orbit::placement
