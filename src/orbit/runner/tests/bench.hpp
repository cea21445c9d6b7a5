// A real bundle directory with a shell script as its entry, and real runners over it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/launch/keeper.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/process.hpp"
#include "orbit/platform/system.hpp"
#include "orbit/runner/runner.hpp"

namespace orbit::runner::test {

namespace fs = std::filesystem;

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void put(const fs::path& path, const std::string& bytes, mode_t mode = 0644) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  chmod(path.c_str(), mode);
}

// As `rm -rf` given again until all is gone: a living runner may write into what is being removed.
inline void remove_for_good(const std::filesystem::path& path) {
  std::error_code failed;
  do {
    std::filesystem::remove_all(path, failed);
  } while (failed);
}

// Looks again and again until it is so; the cap is for a broken runner only.
inline bool eventually(const std::function<bool()>& holds, int cap_s = 30) {
  for (int i = 0; i < cap_s * 200; ++i) {
    if (holds()) return true;
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

class Bench {
 public:
  Bench() : temp_(*platform::TempDirectory::make("/tmp", "orbit-runner-")) {
    dir = fs::canonical(temp_.path()) / "bundle";
    platform::SystemRng rng;
    const WallTime now = platform::SystemClock().now().wall;
    order.attempt = make_id<AttemptId>(rng, now);
    order.run = make_id<RunId>(rng, now);
    order.project = "tests";
    order.stop_grace_s = 10;
    job.task = "command";
    job.entry = "scripts/entrypoint.sh";
    job.environment.any = true;
    job.metrics_file = "metrics.jsonl";
  }
  ~Bench() {
    for (const pid_t pid : runners_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    // What a failed test left alive.
    auto tree = platform::ProcessTree::for_attempt(order.attempt);
    [[maybe_unused]] const auto killed = tree.kill_all({getpid()});
    tree.remove();
  }

  // Writes the bundle; `script` is the body of scripts/entrypoint.sh, run in the bundle's directory.
  void make(const std::string& script, mode_t mode = 0755) {
    const std::string entry = "#!/bin/sh\n" + script + "\n";
    const std::string job_text = bundle::job_text(job);
    PrecheckList list = bundle::prechecks_of(job);
    list.checks.insert(list.checks.end(), further_checks.begin(), further_checks.end());
    const std::string checks = bundle::prechecks_text(list);
    put(dir / "job.json", job_text);
    put(dir / bundle::prechecks_path, checks);
    put(dir / "scripts/entrypoint.sh", entry, mode);
    BundleManifest manifest;
    manifest.files = {file("job.json", job_text, false), file("scripts/entrypoint.sh", entry, (mode & 0100) != 0),
                      file(bundle::prechecks_path, checks, false)};
    for (const auto& [path, bytes] : code) {
      put(dir / path, bytes, 0755);
      manifest.files.push_back(file(path, bytes, true));
    }
    const std::string text = bundle::manifest_text(manifest);
    put(dir / "bundle.json", text);
    order.bundle = bundle::manifest_digest(manifest);
    fs::create_directories(dir / "runtime");
    fs::create_directories(dir / "artifacts");
    put(dir / "runtime/order.json", json::encode(order));
  }

  // From now on runners are an ordinary user's: no cgroup can be made.
  void give_to(uid_t uid) {
    user = uid;
    ASSERT_EQ(chown(temp_.path().c_str(), uid, uid), 0);
    for (const auto& each : fs::recursive_directory_iterator(temp_.path()))
      ASSERT_EQ(lchown(each.path().c_str(), uid, uid), 0);
  }

  // A runner in a process of its own.
  pid_t start() {
    const pid_t pid = fork();
    if (pid == 0) {
      setsid();
      if (user != 0 && (setgid(user) != 0 || setuid(user) != 0)) _exit(99);
      _exit(run_main(dir));
    }
    runners_.insert(pid);
    return pid;
  }
  int wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    runners_.erase(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int run() { return wait(start()); }
  void kill_runner(pid_t pid) {
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(wait(pid), 128 + SIGKILL);
  }
  void stop(const std::string& by) {
    const StopOrder stop{by, platform::SystemClock().now().wall};
    ASSERT_TRUE(platform::write_file(dir / "runtime/stop.json", json::encode(stop), 0644));
  }

  bool has(const std::string& relative) const { return fs::exists(dir / relative); }
  RunnerResult result() const {
    auto result = json::decode<RunnerResult>(slurp(dir / "runtime/result.json"), json::From::ours);
    EXPECT_TRUE(result) << (result ? "" : result.error().text()) << "\n" << slurp(dir / "runtime/execution.log");
    return result ? *result : RunnerResult{};
  }
  std::vector<JournalRecord> journal() const {
    std::vector<JournalRecord> out;
    std::istringstream lines(slurp(dir / "runtime/journal.jsonl"));
    for (std::string line; std::getline(lines, line);)
      if (auto record = json::decode<JournalRecord>(line, json::From::ours)) out.push_back(*record);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].seq, static_cast<std::int64_t>(i) + 1);
    return out;
  }
  int count(JournalKind kind) const {
    int n = 0;
    for (const auto& record : journal()) n += record.kind == kind ? 1 : 0;
    return n;
  }
  std::optional<JournalRecord> find(JournalKind kind) const {
    for (const auto& record : journal())
      if (record.kind == kind) return record;
    return std::nullopt;
  }
  std::string log() const { return slurp(dir / "runtime/execution.log"); }
  ArtifactManifest artifacts() const {
    auto manifest = bundle::parse_artifact_manifest(slurp(dir / "runtime/artifacts.json"));
    EXPECT_TRUE(manifest);
    return manifest ? *manifest : ArtifactManifest{};
  }
  const Artifact* artifact(const ArtifactManifest& manifest, const std::string& path) const {
    for (const auto& each : manifest.artifacts)
      if (each.path == path) return &each;
    return nullptr;
  }
  launch::WorkloadRecord workload() const {
    auto record = json::decode<launch::WorkloadRecord>(slurp(dir / "runtime/workload.json"), json::From::ours);
    EXPECT_TRUE(record);
    return record ? *record : launch::WorkloadRecord{};
  }
  bool workload_started() const { return find(JournalKind::workload_started).has_value(); }
  std::size_t living() const { return platform::ProcessTree::for_attempt(order.attempt).members({getpid()}).size(); }

  fs::path dir;
  Order order;
  JobSpec job;
  std::vector<std::string> further_checks;
  std::map<std::string, std::string> code;  // path -> content, executable
  uid_t user = 0;                           // runs the runner; 0: whoever runs the test

 private:
  static FileEntry file(const std::string& path, const std::string& bytes, bool executable) {
    return FileEntry{path, executable, static_cast<std::int64_t>(bytes.size()), Sha256::of(bytes)};
  }
  platform::TempDirectory temp_;
  std::set<pid_t> runners_;
};

}  // namespace orbit::runner::test
