// A store, a writer and a local placement, all real; no runner is started: with no slots every attempt waits in the
// queue.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "orbit/control/writer.hpp"
#include "orbit/decide/catalog.hpp"
#include "orbit/placement/local.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/system.hpp"
#include "orbit/server/attempts.hpp"
#include "orbit/server/submission.hpp"
#include "orbit/store/file_blob_store.hpp"
#include "orbit/store/file_log_store.hpp"
#include "orbit/store/sqlite_store.hpp"

namespace orbit::server {

namespace fs = std::filesystem;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// That something is refused, with this code, naming this field.
#define EXPECT_REFUSED(expression, wanted_code, wanted_field)                                       \
  do {                                                                                              \
    const auto result_ = (expression);                                                              \
    EXPECT_FALSE(result_) << "was accepted";                                                        \
    if (!result_) {                                                                                 \
      EXPECT_EQ(to_string(result_.error().code), to_string(wanted_code)) << result_.error().text(); \
      EXPECT_EQ(result_.error().field, wanted_field) << result_.error().text();                     \
    }                                                                                               \
  } while (false)

class RunFixture : public ::testing::Test {
 protected:
  struct File {
    std::string text;
    bool executable = false;
  };
  using Files = std::map<std::string, File>;

  explicit RunFixture(std::int32_t slots = 0) {
    const fs::path data = scratch_.path();
    for (const char* name : {"templates", "task-types"}) must(platform::make_directories(data / name));
    write_template("local-host", "");
    store_ = must(store::open_sqlite(data / "orbit.db"));
    blobs_ = must(store::open_file_blob_store(data / "blobs"));
    logs_ = must(store::open_file_log_store(data / "logs"));
    placement_ = std::make_shared<placement::LocalPlacement>(data / "attempts", *blobs_, "/bin/true", clock_);
    backends_.add(PlacementKind::local, LaunchMode::host_process, placement_);
    Policy policy;
    policy.local_slots = slots;
    engine_ = std::make_unique<control::Engine>(*store_, clock_, rng_, policy);
    must(engine_->start());
    writer_ = std::make_unique<control::Writer>(
        *engine_, [](const Intent&, const LiveAttempt&) {}, [](const std::vector<Event>&) {});
    writer_->start();
    reader_ = must(store_->reader());
    restart_service(false);
    add_project("digits");
  }
  ~RunFixture() override { writer_->stop(); }

  void restart_service(bool allow_command_tasks) {
    SubmissionOptions options;
    options.templates = scratch_.path() / "templates";
    options.task_types = scratch_.path() / "task-types";
    options.allow_command_tasks = allow_command_tasks;
    const ReaderSource readers = [this]() -> Result<std::shared_ptr<StoreReader>> {
      ORBIT_TRY_ASSIGN(auto reader, store_->reader());
      return std::shared_ptr<StoreReader>(std::move(reader));
    };
    service_ = std::make_unique<SubmissionService>(*writer_, readers, *blobs_, backends_, clock_, rng_, options);
    attempts_ = std::make_unique<AttemptService>(*writer_, readers, *blobs_, backends_, clock_, rng_);
  }

  void write_template(const std::string& id, const std::string& more) {
    std::ofstream(scratch_.path() / "templates" / (id + ".yaml"))
        << "id: " << id << "\ndescription: for tests\nplacement: local\nlaunch: host_process\n"
        << "allow_overrides: [resources.*, stop_grace]\n"
        << more;
  }

  void add_project(const std::string& name, std::map<std::string, std::string> params = {},
                   std::optional<EnvironmentProfile> environment = {}, std::optional<std::string> entry = {}) {
    Project project;
    project.name = name;
    project.params = std::move(params);
    project.environment = std::move(environment);
    project.entry = std::move(entry);
    project.created_by = "ada";
    project.created_at = clock_.now().wall;
    must(writer_->run([&](const World&, Now now) -> Result<Effects> { return decide::create_project(project, now); }));
  }

  Digest put(const std::string& text) {
    const Digest digest = Sha256::of(text);
    must(blobs_->put(digest, text));
    return digest;
  }

  Digest upload(const Files& files) {
    BundleManifest list;
    for (const auto& [path, file] : files)
      list.files.push_back({path, file.executable, static_cast<std::int64_t>(file.text.size()), put(file.text)});
    return put(bundle::manifest_text(list));
  }

  static Files code() {
    return {{"inputs/code/train.py", {"#!/usr/bin/env python3\n", true}}, {"inputs/code/data/train.csv", {"1,2\n"}}};
  }

  wire::SubmitRequest request(const Files& files = code()) {
    wire::SubmitRequest out;
    out.submission.project = "digits";
    out.submission.task = "training";
    out.submission.template_id = "local-host";
    out.submission.entry = "train.py";
    out.submission.inputs = {{"dataset", "data/train.csv"}, {"output", "model.npz"}};
    out.submission.environment = EnvironmentProfile{};
    out.submission.environment->any = true;
    out.code.source = "/home/ada/digits";
    out.files = upload(files);
    return out;
  }

  RunView submit(const wire::SubmitRequest& wanted) { return must(service_->submit(wanted, "ada")).run; }
  RunView submit_named(const std::string& name, std::map<std::string, std::string> params = {}) {
    auto wanted = request();
    wanted.submission.name = name;
    wanted.submission.params = std::move(params);
    return submit(wanted);
  }
  RunView view(const RunId& id) { return must(reader_->run(id)).value(); }

  void end(const RunView& run) {
    must(writer_->run(
        [&](const World& world, Now now) { return decide::request_stop(world, run.attempts.back().id, "ada", now); }));
  }
  void announce(const AttemptId& attempt, const std::string& path, const Digest& digest = Sha256::of("x"),
                std::int64_t at_ms = 0, std::optional<std::int64_t> step = {}) {
    CheckpointRecord record;
    record.path = path;
    record.step = step;
    record.sha256 = digest;
    record.at = WallTime{at_ms};
    must(writer_->run(
        [&](const World&, Now) -> Result<Effects> { return Effects{{AddCheckpoint{{attempt, record}}}, {}}; }));
  }

  // Puts files where the workload would have, and gives the attempt the manifest and the result a runner would have.
  void finish(Attempt& attempt, const std::map<std::string, std::string>& artifacts) {
    attempt.handle = must(placement_->provision(attempt.id, ExecutionRequest{}));
    for (const auto& [path, text] : artifacts) write(attempt, "artifacts/" + path, text);
    must(platform::make_directories(directory(attempt) / "artifacts"));
    const ArtifactManifest manifest = must(bundle::list_artifacts(directory(attempt) / "artifacts", false));
    const std::string text = bundle::artifact_manifest_text(manifest);
    write(attempt, "runtime/artifacts.json", text);
    RunnerResult result;
    result.attempt = attempt.id;
    result.epoch = attempt.epoch;
    result.workload_started = true;
    result.exit_code = 0;
    result.artifacts = Sha256::of(text);
    attempt.result = result;
  }
  void write(const Attempt& attempt, const std::string& path, const std::string& text) {
    must(platform::make_directories((directory(attempt) / path).parent_path()));
    must(platform::write_file(directory(attempt) / path, text, 0644));
  }
  fs::path directory(const Attempt& attempt) const { return scratch_.path() / "attempts" / attempt.id.str(); }

  platform::TempDirectory scratch_ = must(platform::TempDirectory::make(fs::temp_directory_path(), "orbit-server-"));
  platform::SystemClock clock_;
  platform::SystemRng rng_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<LogStore> logs_;
  std::shared_ptr<placement::LocalPlacement> placement_;
  BackendRegistry backends_;
  std::unique_ptr<control::Engine> engine_;
  std::unique_ptr<control::Writer> writer_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<SubmissionService> service_;
  std::unique_ptr<AttemptService> attempts_;
};

}  // namespace orbit::server
