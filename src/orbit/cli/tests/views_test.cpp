#include <gtest/gtest.h>

#include <regex>

#include "orbit/cli/frozen_view.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

TEST(RunDetails, ParamsAreShownAsTheyWereWritten) {
  wire::RunObject run;
  run.params["lr"] = 0.003;
  run.params_text["lr"] = "0.003";
  run.params["momentum"] = 0.1;
  run.params_text["momentum"] = "0.10";
  const std::string text = run_details(run, nullptr, Terminal{});
  EXPECT_NE(text.find("lr=0.003 momentum=0.10"), std::string::npos) << text;
}

wire::RunSpecObject a_spec() {
  wire::RunSpecObject spec;
  spec.submission.template_id = "local-host";
  spec.submission.command = {"./prepare.sh", "--all", "a b", ""};
  spec.submission.resume_argument = "--resume";
  spec.submission.overrides["stop_grace"] = "60s";
  spec.job.inputs["dataset"] = "data.csv";
  spec.job.outputs = {"model.bin", "log.txt"};
  spec.job.data.push_back({"extra", "/data/extra", 1, 4, Sha256::of("data")});
  TemplateValues& values = spec.request.values;
  values.resources.gpus = 2;
  values.resources.gpu_memory_bytes = std::int64_t{20} << 30;
  values.resources.cpus = 4;
  values.resources.memory_bytes = std::int64_t{8} << 30;
  values.resources.disk_bytes = std::int64_t{1} << 30;
  values.resources.time_limit_s = 90;
  values.runtime_env["OMP_NUM_THREADS"] = "4";
  values.stop_grace_s = 60;
  return spec;
}

TEST(Frozen, R1AllThatWasFrozenIsShown) {
  Fields fields;
  CodeRevision code;
  code.source = "/src";
  code.key_files["conf/a.yaml"] = Sha256::of("key");
  add_frozen(fields, a_spec(), code);
  const std::string text = "\n" + std::regex_replace(fields.text(false), std::regex(": +"), ": ");
  for (const std::string& line : {
           std::string("code: /src"),
           "key file conf/a.yaml: " + Sha256::of("key").hex().substr(0, 12),
           std::string("input dataset: data.csv"),
           std::string("outputs: model.bin, log.txt"),
           std::string("command: ./prepare.sh --all 'a b' ''"),
           "data extra: /data/extra (1 file, 4 B, " + Sha256::of("data").hex().substr(0, 12) + ")",
           std::string("resume argument: --resume"),
           std::string("override stop_grace: 60s"),
           std::string("gpus: 2"),
           std::string("memory per gpu: 20.0 GiB"),
           std::string("cpus: 4"),
           std::string("memory: 8.0 GiB"),
           std::string("disk: 1.0 GiB"),
           std::string("time limit: 1m 30s"),
           std::string("env OMP_NUM_THREADS: 4"),
           std::string("stop grace: 1m 0s"),
       })
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\nin" << text;
}

TEST(RunDetails, InputsOutputsAndTheCommandAreShownWhereTheyCanBeHad) {
  const wire::RunSpecObject spec = a_spec();
  const std::string text = run_details({}, &spec, Terminal{});
  for (const char* what : {"input dataset:", "model.bin, log.txt", "./prepare.sh --all 'a b' ''"})
    EXPECT_NE(text.find(what), std::string::npos) << what << "\nin " << text;
  EXPECT_EQ(run_details({}, nullptr, Terminal{}).find("command:"), std::string::npos);
}

TEST(AttemptTable, AnAttemptOfLessThanASecondTookItsMilliseconds) {
  wire::AttemptObject attempt;
  attempt.started_at = WallTime{1'000};
  attempt.ended_at = WallTime{1'948};
  attempt.duration_s = 0;
  EXPECT_NE(attempt_table({attempt}, Terminal{}).find(" 948ms "), std::string::npos);
  attempt.ended_at = WallTime{2'948};
  attempt.duration_s = 1;
  EXPECT_NE(attempt_table({attempt}, Terminal{}).find(" 1s "), std::string::npos);
  attempt.duration_s.reset();
  EXPECT_EQ(attempt_table({attempt}, Terminal{}).find("ms "), std::string::npos);
}

}  // namespace
}  // namespace orbit::cli
