#include <algorithm>
#include <set>
#include <thread>

#include "orbit/base/text.hpp"
#include "orbit/server/frozen_spec.hpp"
#include "orbit/server/local_machine.hpp"
#include "orbit/server/run_names.hpp"
#include "orbit/spec/template.hpp"
#include "run_fixture.hpp"

namespace orbit::server {
namespace {

class SubmissionTest : public RunFixture {
 protected:
  auto answer(const wire::SubmitRequest& wanted) { return service_->submit(wanted, "ada"); }
};

TEST_F(SubmissionTest, R1_what_was_submitted_is_frozen_and_can_be_read_back) {
  auto wanted = request();
  wanted.submission.name = "first";
  wanted.submission.tags = {"baseline"};
  wanted.submission.resources = {{"cpus", "2"}};
  const RunView run = submit(wanted);
  EXPECT_EQ(run.run.name, "first");
  EXPECT_EQ(run.run.created_by, "ada");
  EXPECT_EQ(run.run.request.values.resources.cpus, 2);
  EXPECT_EQ(run.run.template_digest, digest_of(run.run.resolved_from));
  ASSERT_EQ(run.attempts.size(), 1U);

  const wire::RunSpecObject spec = must(frozen_spec(run.run, *blobs_));
  EXPECT_EQ(bundle::manifest_digest(spec.bundle), run.run.bundle);
  EXPECT_EQ(spec.job.code_entry, "train.py");
  for (const FileEntry& file : spec.bundle.files) EXPECT_TRUE(blobs_->has(file.sha256)) << file.path;
  EXPECT_EQ(spec.code.source, "/home/ada/digits");
  EXPECT_TRUE(spec.environment.any);
  EXPECT_EQ(spec.created_by, "ada");
  EXPECT_EQ(spec.created_at, run.run.created_at);
}

TEST_F(SubmissionTest, R5_the_same_submission_freezes_the_same_bundle) {
  EXPECT_EQ(submit(request()).run.bundle, submit(request()).run.bundle);
  auto other = request();
  other.submission.params["rate"] = "0.1";
  EXPECT_NE(submit(other).run.bundle, submit(request()).run.bundle);
}

TEST_F(SubmissionTest, the_same_request_sent_twice_makes_one_run) {
  auto wanted = request();
  wanted.id = make_id<RunId>(rng_, clock_.now().wall).str();
  const Submitted first = must(answer(wanted));
  EXPECT_TRUE(first.created);
  fs::remove(scratch_.path() / "templates" / "local-host.yaml");  // does not matter any more
  const Submitted second = must(answer(wanted));
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.run.run.id, first.run.run.id);
  EXPECT_EQ(second.run.attempts.size(), 1U);

  wanted.submission.params["rate"] = "1";
  EXPECT_REFUSED(answer(wanted), ErrorCode::conflict, "id");
  wanted = request(Files{{"inputs/code/train.py", {"other", true}}});
  wanted.id = first.run.run.id.str();
  EXPECT_REFUSED(answer(wanted), ErrorCode::conflict, "id");
  wanted.id = "not-an-id";
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "id");
}

TEST_F(SubmissionTest, the_same_request_sent_at_once_from_many_sides_makes_one_run) {
  auto wanted = request();
  wanted.id = make_id<RunId>(rng_, clock_.now().wall).str();
  std::vector<std::thread> threads;
  std::atomic<int> created{0};
  std::atomic<int> failed{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto made = answer(wanted);
      if (!made) ++failed;
      if (made && made->created) ++created;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(failed, 0);
}

TEST_F(SubmissionTest, R18_a_name_is_unique_in_its_project_only) {
  submit_named("first");
  auto wanted = request();
  wanted.submission.name = "first";
  EXPECT_REFUSED(answer(wanted), ErrorCode::conflict, "name");
  add_project("other");
  wanted.submission.project = "other";
  EXPECT_TRUE(answer(wanted));
  std::vector<std::thread> threads;
  std::atomic<int> taken{0};
  wanted.submission.name = "second";
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      if (const auto made = answer(wanted); made) ++taken;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1);
}

TEST_F(SubmissionTest, R18_a_name_that_looks_like_an_id_is_refused) {
  auto wanted = request();
  wanted.submission.name = make_id<RunId>(rng_, clock_.now().wall).str();
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "name");
  for (const char* name : {"", "Ünicode", "../up", "a b", "line\nbreak", "-x"}) {
    wanted.submission.name = name;
    EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "name");
  }
}

TEST(RunNames, R18_are_names_and_differ) {
  platform::SystemRng rng;
  std::set<std::string> seen;
  for (int tries = 0; tries < 30; ++tries) {
    const std::string name = generate_run_name(std::string(63, 'p'), rng, tries);
    EXPECT_TRUE(check_name(name, "name")) << name;
    EXPECT_FALSE(is_ulid(name));
    seen.insert(name);
  }
  EXPECT_GT(seen.size(), 25U);
}

TEST_F(SubmissionTest, a_project_is_made_together_with_the_run_or_not_at_all) {
  auto wanted = request();
  wanted.submission.project = "new";
  wanted.create_project.emplace().source = "/home/ada/digits";
  wanted.create_project->params["rate"] = "0.25";
  wanted.submission.entry = "missing.py";
  EXPECT_FALSE(answer(wanted));
  EXPECT_FALSE(must(reader_->project("new"))) << "a submission that is refused leaves nothing";

  wanted.submission.entry = "train.py";
  wanted.dry_run = true;
  EXPECT_EQ(must(service_->preview(wanted, "ada")).spec.job.params.at("rate"), "0.25");
  EXPECT_FALSE(must(reader_->project("new")));

  wanted.dry_run = std::nullopt;
  const RunView run = submit(wanted);
  const Project project = must(reader_->project("new")).value();
  EXPECT_EQ(project.source, "/home/ada/digits");
  EXPECT_EQ(project.created_by, "ada");
  EXPECT_EQ(must(frozen_spec(run.run, *blobs_)).job.params.at("rate"), "0.25");

  wanted.create_project->params["rate"] = "9";  // it is there by now, and stays as it is
  EXPECT_EQ(must(frozen_spec(submit(wanted).run, *blobs_)).job.params.at("rate"), "0.25");
  wanted.submission.project = "other";
  wanted.create_project->description = std::string(1 << 20, 'x');
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "create_project.description");
}

TEST_F(SubmissionTest, a_project_that_many_make_at_once_is_made_once) {
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  auto wanted = request();
  wanted.submission.project = "new";
  wanted.create_project.emplace();
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      if (answer(wanted)) ++made;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 4);
}

TEST_F(SubmissionTest, what_does_not_exist_is_named_with_the_nearest_that_does) {
  auto wanted = request();
  wanted.submission.project = "digit";
  const auto project = answer(wanted);
  EXPECT_REFUSED(project, ErrorCode::not_found, "project");
  EXPECT_NE(project.error().hint.find("'digits'"), std::string::npos);
  wanted = request();
  wanted.submission.template_id = "local-hast";
  const auto missing = answer(wanted);
  EXPECT_REFUSED(missing, ErrorCode::not_found, "template");
  EXPECT_NE(missing.error().hint.find("'local-host'"), std::string::npos);
  wanted = request();
  wanted.submission.task = "traning";
  EXPECT_REFUSED(answer(wanted), ErrorCode::not_found, "task");
  wanted = request();
  wanted.submission.experiment = "nothing";
  EXPECT_REFUSED(answer(wanted), ErrorCode::not_found, "experiment");
}

TEST_F(SubmissionTest, R3_an_override_that_is_not_allowed_is_refused) {
  auto wanted = request();
  wanted.submission.overrides = {{"metrics_file", "other.jsonl"}};
  const auto refused = answer(wanted);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("metrics_file"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("local-host"), std::string::npos) << refused.error().text();
}

TEST_F(SubmissionTest, R3_a_template_is_read_again_when_its_file_changed_and_a_broken_one_spoils_no_other) {
  const Digest before = submit(request()).run.template_digest;
  write_template("local-host", "# a comment changes nothing\n");
  EXPECT_EQ(submit(request()).run.template_digest, before);
  write_template("local-host", "defaults: {stop_grace: 7s}\n");
  const RunView run = submit(request());
  EXPECT_NE(run.run.template_digest, before);
  EXPECT_EQ(run.run.request.values.stop_grace_s, 7);
  write_template("broken", "unknown_key: 1\n");
  EXPECT_TRUE(answer(request()));
  auto loaded = service_->catalog().templates();
  EXPECT_TRUE(loaded.good.contains("local-host"));
  EXPECT_FALSE(loaded.good.contains("broken"));
  EXPECT_NE(loaded.bad.at("broken").message.find("broken.yaml:"), std::string::npos);
  auto wanted = request();
  wanted.submission.template_id = "broken";
  EXPECT_REFUSED(answer(wanted), ErrorCode::corrupt, "template");
  std::ofstream(scratch_.path() / "task-types" / "bad.yaml") << "id: [";
  EXPECT_TRUE(answer(request())) << "a file that this run does not need";
  EXPECT_TRUE(service_->catalog().task_types().bad.contains("bad"));
}

TEST_F(SubmissionTest, N3_the_environment_is_the_runs_else_the_projects_else_the_templates_and_none_is_refused) {
  auto wanted = request();
  wanted.submission.environment.reset();
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "environment");
  write_template("local-host", "defaults: {environment: {python: \"3.9\"}}\n");
  EXPECT_EQ(submit(wanted).run.environment.python, "3.9");
  EnvironmentProfile own;
  own.python = "3.10";
  add_project("with-profile", {}, own);
  wanted.submission.project = "with-profile";
  EXPECT_EQ(submit(wanted).run.environment.python, "3.10");
  wanted.submission.environment = EnvironmentProfile{};
  wanted.submission.environment->python = "3.11";
  EXPECT_EQ(submit(wanted).run.environment.python, "3.11");
  wanted.submission.environment = EnvironmentProfile{};  // nothing in it, and `any` not written out
  EXPECT_FALSE(answer(wanted));
}

TEST_F(SubmissionTest, P1_params_and_entry_of_the_project_are_defaults) {
  add_project("defaults", {{"rate", "0.5"}, {"epochs", "3"}}, {}, "train.py");
  auto wanted = request();
  wanted.submission.project = "defaults";
  wanted.submission.entry.reset();
  wanted.submission.params = {{"rate", "1.0"}};
  const RunView run = submit(wanted);
  const JobSpec job = must(frozen_spec(run.run, *blobs_)).job;
  EXPECT_EQ(job.params.at("rate"), "1.0");
  EXPECT_EQ(job.params.at("epochs"), "3");
  EXPECT_EQ(job.code_entry, "train.py");
  EXPECT_EQ(run.run.submission.params.size(), 1U) << "recorded is what was asked";
}

TEST_F(SubmissionTest, R4_ad_hoc_commands_are_off_unless_the_server_allows_them) {
  auto wanted = request();
  wanted.submission.task = "command";
  wanted.submission.entry.reset();
  wanted.submission.inputs.clear();
  wanted.submission.command = {"/bin/echo", "hello"};
  EXPECT_REFUSED(answer(wanted), ErrorCode::refused, "task");
  restart_service(true);
  EXPECT_TRUE(answer(wanted));
}

TEST_F(SubmissionTest, an_entry_must_be_there_and_executable) {
  auto wanted = request();
  wanted.submission.entry = "trian.py";
  const auto missing = answer(wanted);
  EXPECT_REFUSED(missing, ErrorCode::invalid_argument, "entry");
  EXPECT_NE(missing.error().hint.find("'train.py'"), std::string::npos);
  Files files = code();
  files["inputs/code/train.py"].executable = false;
  wanted = request(files);
  const auto plain = answer(wanted);
  EXPECT_REFUSED(plain, ErrorCode::invalid_argument, "entry");
  EXPECT_EQ(plain.error().hint, "chmod +x 'train.py'");
  wanted.code.commit = std::string(40, 'a');
  const auto git = answer(wanted);
  ASSERT_FALSE(git);
  EXPECT_NE(git.error().hint.find("git update-index --chmod=+x 'train.py'"), std::string::npos) << git.error().hint;
}

TEST_F(SubmissionTest, blobs_that_were_not_uploaded_are_counted_and_named) {
  auto wanted = request();
  BundleManifest list;
  for (int i = 0; i < 9; ++i)
    list.files.push_back({fmt::format("inputs/code/{}", i), false, 1, Sha256::of(fmt::format("missing {}", i))});
  wanted.files = put(bundle::manifest_text(list));
  const auto refused = answer(wanted);
  EXPECT_REFUSED(refused, ErrorCode::conflict, "files");
  EXPECT_NE(refused.error().message.find("9 files"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("inputs/code/0"), std::string::npos);
  wanted.files = Sha256::of("no such list");
  EXPECT_REFUSED(answer(wanted), ErrorCode::conflict, "files");
  wanted.files = {};
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "files");
}

TEST_F(SubmissionTest, X4_a_list_of_files_that_is_no_list_climbs_or_lies_is_refused) {
  auto wanted = request();
  const Digest content = put("x");
  const auto with = [&](const std::string& path, std::int64_t size) {
    BundleManifest list;
    list.files.push_back({path, true, size, content});
    wanted.files = put(json::canonical(json::from(list)));
    return answer(wanted);
  };
  for (const char* path :
       {"../x", "/etc/passwd", "inputs/../../x", "job.json", "scripts/entrypoint.sh", "inputs/code/a\nb"})
    EXPECT_REFUSED(with(path, 1), ErrorCode::invalid_argument, "files");
  EXPECT_REFUSED(with("inputs/code/train.py", 2), ErrorCode::invalid_argument, "files");
  EXPECT_REFUSED(with("inputs/code/train.py", std::int64_t{1} << 62), ErrorCode::too_large, "files");
  wanted.files = put("not json");
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "files");
}

TEST_F(SubmissionTest, R5_data_is_staged_or_has_a_fingerprint) {
  auto wanted = request();
  wanted.submission.inputs["dataset"] = "data/nothing.csv";
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "inputs.dataset");
  wanted.submission.inputs["dataset"] = "data";
  EXPECT_TRUE(answer(wanted)) << "a folder of the code";
  wanted.submission.inputs["dataset"] = "/data/train";
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "inputs.dataset");
  wanted.data = {{"dataset", "/data/other", 1, 2, Sha256::of("d")}};
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "inputs.dataset");
  wanted.data = {{"dataset", "/data/train", 1, 2, {}}};
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "data[0]");
  wanted.data = {{"output", "/data/train", 1, 2, Sha256::of("d")}};
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "data[0].input");
  wanted.data = {{"dataset", "/data/train", 1, 2, Sha256::of("d")}};
  const RunView run = submit(wanted);
  ASSERT_EQ(run.run.data.size(), 1U);
  EXPECT_EQ(must(frozen_spec(run.run, *blobs_)).job.data.at(0).sha256, Sha256::of("d"));
}

TEST_F(SubmissionTest, R1_commit_patch_and_key_files_agree_with_the_files) {
  auto wanted = request();
  for (const char* source : {"", "https://ada:secret@git.example/digits", "line\nbreak"}) {
    wanted.code.source = source;
    const auto refused = answer(wanted);
    EXPECT_REFUSED(refused, ErrorCode::invalid_argument, "code.source");
    EXPECT_EQ(refused.error().text().find("secret"), std::string::npos) << "R15: said again";
  }
  for (const char* source : {"git@git.example:ada/digits", "ssh://git@git.example/digits", "C:/x@y:z", "/home/ada"}) {
    wanted.code.source = source;
    EXPECT_TRUE(answer(wanted)) << source;
  }
  wanted.code.commit = "main";
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "code.commit");
  wanted.code.commit = std::string(40, 'b');
  wanted.code.dirty = true;
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "code.patch");
  wanted.code.patch = Sha256::of("patch");
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "code.patch");
  Files files = code();
  files["inputs/patch.diff"] = {"patch", false};
  wanted.files = upload(files);
  EXPECT_TRUE(answer(wanted));
  wanted.code.key_files = {{"train.py", Sha256::of("another")}};
  EXPECT_REFUSED(answer(wanted), ErrorCode::invalid_argument, "code.key_files.train.py");
}

TEST_F(SubmissionTest, R2_a_backend_this_server_does_not_have_is_refused) {
  std::ofstream(scratch_.path() / "templates" / "on-node.yaml")
      << "id: on-node\ndescription: x\nplacement: node\nlaunch: host_process\n";
  auto wanted = request();
  wanted.submission.template_id = "on-node";
  const auto refused = answer(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().text().find("node_host_process"), std::string::npos);
}

TEST_F(SubmissionTest, R17_a_dry_run_freezes_the_same_and_records_nothing) {
  const wire::SubmitPreview preview = must(service_->preview(request(), "ada"));
  EXPECT_TRUE(must(reader_->runs({}, {})).empty());
  EXPECT_EQ(preview.backend, "local_host_process");
  EXPECT_NE(preview.placement.find("would wait"), std::string::npos) << preview.placement;
  EXPECT_EQ(submit(request()).run.bundle, preview.spec.bundle_digest);
}

TEST_F(SubmissionTest, A_dry_run_says_what_the_machine_does_not_have) {
  auto wanted = request();
  wanted.submission.resources = {{"cpus", "60000"}};
  const std::string sentence = must(service_->preview(wanted, "ada")).placement;
  EXPECT_NE(sentence.find("could never start"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("60000 CPUs, of which it has "), std::string::npos) << sentence;
}

TEST_F(SubmissionTest, The_local_machine_is_compared_with_the_request) {
  const LocalMachine machine{2, std::int64_t{8} << 30, 0};
  Resources wanted;
  wanted.cpus = 2;
  wanted.memory_bytes = std::int64_t{8} << 30;
  EXPECT_TRUE(beyond(machine, wanted).empty());
  EXPECT_TRUE(beyond(machine, Resources{}).empty());
  wanted.cpus = 99;
  wanted.memory_bytes = std::int64_t{16} << 30;
  wanted.gpus = 2;
  const auto lacking = beyond(machine, wanted);
  ASSERT_EQ(lacking.size(), 3U);
  EXPECT_EQ(lacking[0], "2 GPUs, of which it has none");
  EXPECT_EQ(lacking[1], "99 CPUs, of which it has 2");
  EXPECT_TRUE(lacking[2].ends_with(" of memory, of which it has " + human_bytes(machine.memory_bytes))) << lacking[2];

  const LocalMachine here = look_at_local_machine();
  EXPECT_GT(here.cpus, 0);
  EXPECT_GT(here.memory_bytes, 0);
  const fs::path root = scratch_.path() / "root";
  EXPECT_EQ(look_at_local_machine(root).gpus, 0);
  must(platform::make_directories(root / "dev"));
  for (const char* name : {"nvidia0", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia"})
    std::ofstream(root / "dev" / name) << "";
  EXPECT_EQ(look_at_local_machine(root).gpus, 2) << "devices only";
  must(platform::make_directories(root / "proc/driver/nvidia/gpus/0000:01:00.0"));
  EXPECT_EQ(look_at_local_machine(root).gpus, 1);
}

// What a hint says to write is what a run file may hold.
TEST_F(SubmissionTest, N3_the_hint_for_a_missing_environment_can_be_written) {
  auto wanted = request();
  wanted.submission.environment.reset();
  const auto refused = answer(wanted);
  ASSERT_FALSE(refused);
  std::string hint = refused.error().hint;
  int found = 0;
  for (std::size_t at; (at = hint.find("environment: ")) != std::string::npos; ++found) {
    hint.erase(0, at + std::string("environment: ").size());
    const std::string value = hint.substr(0, hint.find("  "));
    EXPECT_TRUE(spec::parse_profile(value, "run.yaml")) << value;
  }
  EXPECT_EQ(found, 2);
}

// As many files as may be, and then those that Orbit adds.
TEST_F(SubmissionTest, Files_at_the_limit_leave_no_room_for_what_is_added) {
  BundleManifest list;
  const Digest digest = put("x");
  for (int i = 0; i < bundle::Limits{}.max_files; ++i)
    list.files.push_back({fmt::format("inputs/code/d/{:06}", i), false, 1, digest});
  list.files.back() = {"inputs/code/train.py", true, 1, digest};
  auto wanted = request();
  wanted.submission.inputs["dataset"] = "d/000001";
  wanted.files = put(bundle::manifest_text(list));
  const auto refused = answer(wanted);
  EXPECT_REFUSED(refused, ErrorCode::too_large, "code");
  EXPECT_NE(refused.error().message.find("100000 files"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(refused.error().hint.empty());
}

TEST_F(SubmissionTest, R8_rerun_is_a_new_attempt_of_the_same_bundle_once_the_last_is_over) {
  const RunView run = submit_named("first");
  EXPECT_REFUSED(attempts_->rerun(run, {}, "bob"), ErrorCode::conflict, "run");
  end(run);
  const Attempt second = must(attempts_->rerun(run, {}, "bob"));
  EXPECT_EQ(second.number, 2);
  EXPECT_EQ(second.created_by, "bob");
  EXPECT_FALSE(second.resume);
  end(view(run.run.id));
  EXPECT_EQ(must(attempts_->rerun(run, {}, "bob")).number, 3) << "an old view of the run does no harm";
  EXPECT_EQ(view(run.run.id).run.bundle, run.run.bundle);
  EXPECT_REFUSED(attempts_->rerun(run, wire::RerunRequest{"gpu-7"}, "bob"), ErrorCode::invalid_argument, "target");
}

TEST_F(SubmissionTest, R8_a_run_whose_bundle_is_gone_cannot_be_thrown_again) {
  const RunView run = submit(request());
  end(run);
  fs::remove(must(blobs_->path(run.run.bundle)));
  EXPECT_REFUSED(attempts_->rerun(run, {}, "ada"), ErrorCode::corrupt, "bundle");
}

TEST_F(SubmissionTest, R8_resume_takes_the_furthest_checkpoint_whatever_the_order_of_announcement) {
  const RunView run = submit_named("first");
  end(run);
  announce(run.attempts[0].id, "checkpoints/step-000030", Sha256::of("30"), 1, 30);
  announce(run.attempts[0].id, "checkpoints/step-000025", Sha256::of("25"), 2, 25);
  EXPECT_EQ(must(attempts_->resume(run, {}, "ada")).resume->checkpoint, "checkpoints/step-000030");
}

TEST_F(SubmissionTest, R8_resume_takes_the_checkpoint_that_is_meant) {
  const RunView run = submit_named("first");
  end(run);
  const auto none = attempts_->resume(run, {}, "ada");
  EXPECT_REFUSED(none, ErrorCode::not_found, "checkpoint");
  EXPECT_NE(none.error().hint.find("rerun"), std::string::npos);

  const AttemptId first = run.attempts[0].id;
  announce(first, "checkpoints/step-1", Sha256::of("1"), 1);
  announce(first, "checkpoints/step-2", Sha256::of("2"), 2);
  announce(first, "other/step-1", Sha256::of("3"), 3);
  const auto resume = [&](std::optional<std::string> checkpoint, std::optional<std::int32_t> number = {}) {
    auto made = attempts_->resume(run, wire::ResumeRequest{std::move(checkpoint), number, {}}, "ada");
    if (made) end(view(run.run.id));
    return made;
  };
  EXPECT_EQ(must(resume({})).resume->checkpoint, "other/step-1") << "the latest";
  EXPECT_EQ(must(resume("step-2")).resume->checkpoint, "checkpoints/step-2") << "by its last component";
  EXPECT_EQ(must(resume("checkpoints/step-1/")).resume->sha256, Sha256::of("1")) << "by its path";
  EXPECT_REFUSED(resume("step-1"), ErrorCode::conflict, "checkpoint");
  const auto typo = resume("checkpoints/step-3");
  EXPECT_REFUSED(typo, ErrorCode::not_found, "checkpoint");
  EXPECT_NE(typo.error().hint.find("did you mean"), std::string::npos);
  EXPECT_REFUSED(resume({}, 9), ErrorCode::not_found, "attempt");
  EXPECT_REFUSED(resume({}, 2), ErrorCode::not_found, "checkpoint");

  const Attempt later = must(resume({}, 1));
  announce(later.id, "checkpoints/step-2", Sha256::of("later"), 4);
  EXPECT_EQ(must(resume("step-2")).resume->attempt, later.id) << "of the latest attempt that has it";
  EXPECT_EQ(must(resume("step-2", 1)).resume->attempt, first);
}

TEST_F(SubmissionTest, R8_the_hint_of_an_unknown_checkpoint_names_the_furthest_once) {
  const RunView run = submit_named("first");
  end(run);
  for (const int step : {20, 70, 10, 60, 30})
    announce(run.attempts[0].id, fmt::format("checkpoints/step-{}", step), Sha256::of("x"), step, step);
  const Attempt second = must(attempts_->rerun(run, {}, "ada"));
  end(view(run.run.id));
  for (const int step : {70, 80, 10})
    announce(second.id, fmt::format("checkpoints/step-{}", step), Sha256::of("y"), step, step);
  const auto refused = attempts_->resume(run, wire::ResumeRequest{"another thing altogether", {}, {}}, "ada");
  EXPECT_REFUSED(refused, ErrorCode::not_found, "checkpoint");
  EXPECT_EQ(refused.error().hint,
            "the furthest are checkpoints/step-80, checkpoints/step-70, checkpoints/step-60, checkpoints/step-30, "
            "checkpoints/step-20");
}

}  // namespace
}  // namespace orbit::server
