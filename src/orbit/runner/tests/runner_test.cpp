#include "bench.hpp"
#include "orbit/base/text.hpp"
#include "orbit/runner/python.hpp"

namespace orbit::runner {
namespace {

using test::Bench;
using test::eventually;
using test::put;
using test::slurp;

TEST(Runner, R10_R14_SuccessWithArtifacts) {
  Bench bench;
  bench.job.params = {{"rate", "1.0"}, {"name", "\"a\\\"b\""}};
  bench.job.outputs = {"model.bin"};
  bench.make(
      "echo hello; echo oops >&2; printf weights >artifacts/model.bin; cat \"$ORBIT_PARAMS_FILE\" >artifacts/params; "
      "ln -s /etc/passwd artifacts/link");
  ASSERT_EQ(bench.run(), 0);
  const auto result = bench.result();
  EXPECT_TRUE(result.workload_started);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.signal);
  EXPECT_FALSE(result.failed_check);
  EXPECT_TRUE(result.missing_outputs.empty());
  EXPECT_FALSE(result.collect_error);
  EXPECT_EQ(result.attempt, bench.order.attempt);
  EXPECT_TRUE(result.environment.contains("os")) << "what the machine had is recorded whatever was asked";
  EXPECT_EQ(slurp(bench.dir / "artifacts/stdout"), "hello\n");
  EXPECT_EQ(slurp(bench.dir / "artifacts/stderr"), "oops\n");
  EXPECT_EQ(slurp(bench.dir / "artifacts/params"), "{\"name\":\"a\\\"b\",\"rate\":1.0}\n");

  const std::string manifest_text = slurp(bench.dir / "runtime/artifacts.json");
  EXPECT_EQ(result.artifacts, Sha256::of(manifest_text));
  const auto manifest = bench.artifacts();
  const auto* model = bench.artifact(manifest, "model.bin");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->sha256, Sha256::of("weights"));
  const auto* link = bench.artifact(manifest, "link");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->kind, ArtifactKind::symlink);
  EXPECT_EQ(link->target, "/etc/passwd");

  // R12: the sizes are final, that of the execution log too.
  EXPECT_EQ(result.log_sizes_bytes.at("stdout"), 6);
  EXPECT_EQ(result.log_sizes_bytes.at("stderr"), 5);
  EXPECT_EQ(result.log_sizes_bytes.at("execution"), static_cast<std::int64_t>(bench.log().size()));

  std::vector<JournalKind> kinds;
  for (const auto& record : bench.journal()) kinds.push_back(record.kind);
  EXPECT_EQ(kinds, (std::vector{JournalKind::runner_started, JournalKind::precheck_passed,
                                JournalKind::workload_launching, JournalKind::workload_started,
                                JournalKind::workload_ended, JournalKind::collected, JournalKind::finished}));
  EXPECT_TRUE(bench.has("runtime/precheck.json"));
  EXPECT_NE(slurp(bench.dir / "runtime/audit.jsonl"), "");
  EXPECT_EQ(bench.living(), 0U);
}

TEST(Runner, R10_ExitCodeAndSignal) {
  for (const auto& [script, exit_code, signal] :
       std::vector<std::tuple<std::string, std::optional<std::int32_t>, std::optional<std::int32_t>>>{
           {"exit 7", 7, {}},
           {"exit 125", 125, {}},
           {"exit 127", 127, {}},
           {"kill -SEGV $$", {}, SIGSEGV},
           {"kill -9 $$", {}, SIGKILL}}) {
    Bench bench;
    bench.make(script);
    ASSERT_EQ(bench.run(), 0) << script;
    EXPECT_TRUE(bench.result().workload_started) << script;
    EXPECT_EQ(bench.result().exit_code, exit_code) << script;
    EXPECT_EQ(bench.result().signal, signal) << script;
  }
}

TEST(Runner, R5_EnvironmentIsScrubbedAndComplete) {
  Bench bench;
  setenv("ORBIT_TEST_SECRET", "credential of the server", 1);
  bench.order.runtime_env = {{"OMP_NUM_THREADS", "3"}};
  bench.order.resources.gpus = 0;
  bench.make("env -0 | sort -z | tr '\\0' '\\n'; pwd; ls -l /proc/self/fd >&2; cat");
  ASSERT_EQ(bench.run(), 0);
  unsetenv("ORBIT_TEST_SECRET");
  const std::string out = slurp(bench.dir / "artifacts/stdout");
  EXPECT_EQ(out.find("credential"), std::string::npos);
  const std::string dir = bench.dir.string();
  for (const std::string& line :
       {std::string("CUDA_VISIBLE_DEVICES="), std::string("LANG=C.UTF-8"), std::string("OMP_NUM_THREADS=3"),
        "ORBIT_ATTEMPT_ID=" + bench.order.attempt.str(), "ORBIT_RUN_ID=" + bench.order.run.str(),
        std::string("ORBIT_PROJECT=tests"), "ORBIT_BUNDLE=" + dir, "ORBIT_ARTIFACTS=" + dir + "/artifacts",
        std::string("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), dir})
    EXPECT_NE(("\n" + out).find("\n" + line + "\n"), std::string::npos) << line << "\nin\n" << out;
  EXPECT_EQ(out.find("ORBIT_RESUME_FROM"), std::string::npos);
  // No descriptor of the runner's (its lock above all) reaches the workload.
  const std::string fds = slurp(bench.dir / "artifacts/stderr");
  EXPECT_EQ(fds.find("/runtime/"), std::string::npos) << fds;
}

TEST(Runner, R14_MissingOutput) {
  Bench bench;
  bench.job.outputs = {"model.bin", "logs"};
  bench.make("mkdir artifacts/logs; touch artifacts/logs/a");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().missing_outputs, std::vector<std::string>{"model.bin"});
}

void expect_refused(Bench& bench, Reason reason, const std::string& words) {
  ASSERT_EQ(bench.run(), 0);
  const auto result = bench.result();
  EXPECT_FALSE(result.workload_started);
  EXPECT_EQ(result.failed_check, reason);
  EXPECT_NE(result.detail.find(words), std::string::npos) << result.detail;
  EXPECT_FALSE(bench.has("artifacts/ran"));
  EXPECT_EQ(bench.count(JournalKind::workload_launching), 0);
  const auto failed = bench.find(JournalKind::precheck_failed);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, reason);
  const auto report = json::decode<PrecheckReport>(slurp(bench.dir / "runtime/precheck.json"), json::From::ours);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->ok);
  EXPECT_NE(bench.log().find("FAILED"), std::string::npos);
}

TEST(RunnerPrechecks, R11_EntryWithoutRunBit) {
  Bench bench;
  bench.make("touch artifacts/ran", 0644);
  expect_refused(bench, Reason::precheck_failed, "entry: ");
}

TEST(RunnerPrechecks, R5_CheckThatThisRunnerDoesNotKnowIsNotSkipped) {
  Bench bench;
  bench.further_checks = {"phase of the moon"};
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "phase of the moon: ");
}

TEST(RunnerPrechecks, R11_StagedCodeIsTheCodeImported) {
  Bench bench;
  const std::string home = bench.dir.parent_path() / "home";
  const std::string python = "/usr/bin/python3";
  bench.order.runtime_env = {{"HOME", home}};
  bench.job.code_entry = "train.py";
  bench.code = {{"inputs/code/train.py", "#!" + python + "\n"},
                {"inputs/code/pyproject.toml", "[project]\nname = \"digits\"\n"},
                {"inputs/code/src/digits/__init__.py", ""}};
  bench.make("touch artifacts/ran");
  const auto facts = python_facts({{"PATH", "/usr/bin:/bin"}}, {}, 20'000);
  ASSERT_TRUE(facts) << facts.error().text();
  const std::filesystem::path site = std::filesystem::path(home) / ".local/lib" /
                                     ("python" + facts->version.substr(0, facts->version.rfind('.'))) / "site-packages";
  put(site / "digits/__init__.py", "");
  put(site / "digits-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: digits\nVersion: 1\n");
  put(site / "digits-1.dist-info/RECORD", "digits/__init__.py,,\n");
  expect_refused(bench, Reason::precheck_failed,
                 "staged code: wanted digits imported from the bundle, found digits from");
}

TEST(RunnerPrechecks, R11_MissingCodeEntry) {
  Bench bench;
  bench.job.code_entry = "inputs/code/train.py";
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "inputs/code/train.py");
}

TEST(RunnerPrechecks, R11_CodeEntryIsFoundBothWays) {
  for (const std::string name : {"inputs/code/train.py", "train.py"}) {
    Bench bench;
    bench.code = {{"inputs/code/train.py", "#!/bin/sh\ntouch artifacts/ran\n"}};
    bench.job.code_entry = name;
    bench.make("exec inputs/code/train.py");
    ASSERT_EQ(bench.run(), 0);
    EXPECT_TRUE(bench.has("artifacts/ran")) << name;
  }
}

TEST(RunnerPrechecks, R5_ChangedBundleIsRefused) {
  Bench bench;
  bench.make("touch artifacts/ran");
  put(bench.dir / "scripts/entrypoint.sh", "#!/bin/sh\ntouch artifacts/ran; echo evil\n", 0755);
  expect_refused(bench, Reason::precheck_failed, "scripts/entrypoint.sh");
}

TEST(RunnerPrechecks, R5_BundleOfAnotherDigestIsRefused) {
  Bench bench;
  bench.make("touch artifacts/ran");
  bench.order.bundle = Sha256::of("another");
  put(bench.dir / "runtime/order.json", json::encode(bench.order));
  expect_refused(bench, Reason::precheck_failed, "bundle digest");
}

TEST(RunnerPrechecks, R5_DatasetDrift) {
  Bench bench;
  const auto data = bench.dir.parent_path() / "data.bin";
  put(data, "one");
  bench.job.data = {*bundle::fingerprint("dataset", data)};
  bench.make("touch artifacts/ran");
  put(data, "two");
  expect_refused(bench, Reason::dataset_changed, data.string());
}

TEST(RunnerPrechecks, R11_DatasetMissing) {
  Bench bench;
  const auto data = bench.dir.parent_path() / "data.bin";
  put(data, "one");
  bench.job.data = {*bundle::fingerprint("dataset", data)};
  bench.make("touch artifacts/ran");
  std::filesystem::remove(data);
  expect_refused(bench, Reason::precheck_failed, "missing");
}

TEST(RunnerPrechecks, R11_NotEnoughDisk) {
  Bench bench;
  bench.order.resources.disk_bytes = 1LL << 60;
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "free disk");
}

TEST(RunnerPrechecks, R11_MoreGpusThanAnyMachineHas) {
  Bench bench;
  bench.order.resources.gpus = 4096;
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "GPUs");
}

TEST(RunnerPrechecks, N3_EnvironmentMismatch) {
  Bench bench;
  bench.job.environment = {};
  bench.job.environment.python = "==2.7";
  bench.job.environment.packages = {{"no-such-distribution-here", "any"}};
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::environment_mismatch, "python");
  // All are run and listed, also behind the first failure.
  EXPECT_NE(bench.log().find("package no-such-distribution-here: FAILED"), std::string::npos) << bench.log();
}

TEST(RunnerPrechecks, N3_EnvironmentMatches) {
  Bench bench;
  bench.job.environment = {};
  bench.job.environment.python = ">=3.6,<4";
  bench.make("touch artifacts/ran");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_TRUE(bench.has("artifacts/ran")) << bench.log();
}

TEST(RunnerPrechecks, X4_VariablesOfOrbitAreRefused) {
  Bench bench;
  bench.order.runtime_env = {{"ORBIT_BUNDLE", "/"}};
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "ORBIT_BUNDLE");
}

TEST(RunnerPrechecks, R2_LaunchModeOfALaterPartIsNamed) {
  Bench bench;
  bench.order.launch = LaunchMode::docker_image;
  bench.make("touch artifacts/ran");
  expect_refused(bench, Reason::precheck_failed, "docker_image");
}

TEST(Runner, R7_ScriptWithoutInterpreterIsStartFailed) {
  Bench bench;
  bench.make("true");
  // Executable and as frozen, but nothing the kernel can start.
  const std::string entry = "#!/no/such/interpreter\n";
  put(bench.dir / "scripts/entrypoint.sh", entry, 0755);
  auto manifest = *bundle::parse_manifest(slurp(bench.dir / "bundle.json"));
  for (auto& file : manifest.files)
    if (file.path == "scripts/entrypoint.sh") {
      file.size_bytes = static_cast<std::int64_t>(entry.size());
      file.sha256 = Sha256::of(entry);
    }
  put(bench.dir / "bundle.json", bundle::manifest_text(manifest));
  bench.order.bundle = bundle::manifest_digest(manifest);
  put(bench.dir / "runtime/order.json", json::encode(bench.order));
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().failed_check, Reason::start_failed);
  EXPECT_FALSE(bench.result().workload_started);
  EXPECT_NE(bench.result().detail.find("cannot be executed"), std::string::npos) << bench.result().detail;
}

TEST(Runner, P3_CheckpointIsAnnouncedOnlyWithItsCompletionFile) {
  Bench bench;
  bench.make(
      "mkdir -p artifacts/checkpoints/step-1 artifacts/checkpoints/step-20\n"
      "echo w >artifacts/checkpoints/step-1/w; echo w >artifacts/checkpoints/step-20/w\n"
      "while [ ! -e artifacts/go ]; do sleep 0.02; done\n"
      "touch artifacts/checkpoints/step-20/COMPLETE\n"
      "while [ ! -e artifacts/end ]; do sleep 0.02; done\n"
      "mkdir artifacts/checkpoints/step-300; touch artifacts/checkpoints/step-300/COMPLETE");
  const pid_t runner = bench.start();
  ASSERT_TRUE(eventually([&] { return bench.workload_started(); }));
  EXPECT_EQ(bench.count(JournalKind::checkpoint), 0);
  put(bench.dir / "artifacts/go", "");
  ASSERT_TRUE(eventually([&] { return bench.count(JournalKind::checkpoint) == 1; }));
  put(bench.dir / "artifacts/end", "");
  ASSERT_EQ(bench.wait(runner), 0);
  const auto first = bench.find(JournalKind::checkpoint)->checkpoint;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->path, "checkpoints/step-20");
  EXPECT_EQ(first->step, 20);
  EXPECT_EQ(first->files, 2);
  EXPECT_EQ(first->size_bytes, 2);
  EXPECT_EQ(first->sha256, bundle::digest_of_list(*bundle::list_files(bench.dir / "artifacts", "checkpoints/step-20")));
  // The last one was written just before the end: found before the collection, and nothing twice.
  std::vector<std::string> paths;
  for (const auto& record : bench.journal())
    if (record.checkpoint) paths.push_back(record.checkpoint->path);
  EXPECT_EQ(paths, (std::vector<std::string>{"checkpoints/step-20", "checkpoints/step-300"}));
}

TEST(Runner, R12_OutputSurvivesByteForByte) {
  Bench bench;
  bench.make("printf '\\000\\377\\376 a\\rb\\r\\n\\303('; head -c 1000000 /dev/zero | tr '\\0' x; printf end");
  ASSERT_EQ(bench.run(), 0);
  std::string wanted("\0\xff\xfe a\rb\r\n\xc3(", 11);
  wanted += std::string(1'000'000, 'x') + "end";
  EXPECT_TRUE(slurp(bench.dir / "artifacts/stdout") == wanted);
  EXPECT_EQ(bench.result().log_sizes_bytes.at("stdout"), static_cast<std::int64_t>(wanted.size()));
}

TEST(Runner, R12_HundredMegabytesOfOutput) {
  Bench bench;
  bench.make("head -c 104857600 /dev/zero");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
  EXPECT_EQ(bench.result().log_sizes_bytes.at("stdout"), 104'857'600);
}

TEST(Runner, X4_HostileNamesLeaveTheFilesReadable) {
  Bench bench;
  // An unreadable bundle file with a name that is no UTF-8, found by the digest check; and artifacts of every kind.
  bench.make(
      "cd artifacts; : >\"$(printf 'a\\377b')\"; : >\"$(printf 'new\\nline')\"; mkfifo fifo; ln -s / root; ln -s "
      "../runtime r");
  ASSERT_EQ(bench.run(), 0);
  const auto result = bench.result();
  EXPECT_EQ(result.exit_code, 0) << slurp(bench.dir / "artifacts/stderr");
  EXPECT_FALSE(result.collect_error);
  const auto manifest = bench.artifacts();
  EXPECT_EQ(manifest.skipped.size(), 3U);
  EXPECT_EQ(bench.artifact(manifest, "r/lock"), nullptr);
  EXPECT_TRUE(is_valid_utf8(bench.log()));

  Bench broken;
  broken.make("touch artifacts/ran");
  put(broken.dir / "inputs" / "bad\xff\nname", "x");
  ASSERT_EQ(broken.run(), 0);
  EXPECT_EQ(broken.result().failed_check, Reason::precheck_failed);
  EXPECT_TRUE(is_valid_utf8(slurp(broken.dir / "runtime/result.json")));
  EXPECT_TRUE(is_valid_utf8(slurp(broken.dir / "runtime/journal.jsonl")));
  EXPECT_TRUE(broken.find(JournalKind::precheck_failed));
}

TEST(Runner, X5_TornJournalTailIsCutOff) {
  Bench bench;
  bench.make("true");
  const JournalRecord first{1, {}, JournalKind::runner_started, {}, {}, {}, {}, {}, {}};
  put(bench.dir / "runtime/journal.jsonl", json::encode(first) + "\n{\"seq\":2,\"at\":\"2026-");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(bench.result().exit_code, 0);
  const auto journal = bench.journal();
  ASSERT_GE(journal.size(), 3U);
  EXPECT_EQ(journal[1].kind, JournalKind::runner_started);
  EXPECT_EQ(journal[1].detail, "adopted");
  EXPECT_NE(bench.log().find("torn"), std::string::npos);
}

TEST(Runner, X5_BrokenOrderIsAnErrorAndStartsNothing) {
  Bench bench;
  bench.make("touch artifacts/ran");
  put(bench.dir / "runtime/order.json", "{\"schema\":1");
  EXPECT_EQ(bench.run(), 1);
  EXPECT_FALSE(bench.has("artifacts/ran"));
  EXPECT_FALSE(bench.has("runtime/result.json"));
}

TEST(Runner, R10_ResultOnDiskEndsALaterRunnerAtOnce) {
  Bench bench;
  bench.make("echo x >>artifacts/count");
  ASSERT_EQ(bench.run(), 0);
  const std::string result = slurp(bench.dir / "runtime/result.json");
  const std::string journal = slurp(bench.dir / "runtime/journal.jsonl");
  ASSERT_EQ(bench.run(), 0);
  EXPECT_EQ(slurp(bench.dir / "runtime/result.json"), result);
  EXPECT_EQ(slurp(bench.dir / "runtime/journal.jsonl"), journal);
  EXPECT_EQ(slurp(bench.dir / "artifacts/count"), "x\n");
}

}  // namespace
}  // namespace orbit::runner
