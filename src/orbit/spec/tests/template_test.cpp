#include "orbit/spec/template.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace orbit::spec {
namespace {

namespace fs = std::filesystem;

constexpr const char* whole = R"(id: gpu
description: Cards of the server
placement: local
launch: host_process
defaults:
  detach: false
  resources:
    gpus: 2
    gpu_memory: 20GiB
    cpus: 8
    memory: 64GiB
    disk: 10GB
    time_limit: 2h30m
  runtime_env:
    OMP_NUM_THREADS: 007
    LD_PRELOAD: /usr/lib/libjemalloc.so
  environment:
    os: debian 12
    python: 3.10
    packages: {torch: ">=2.1,<3"}
  stop_grace: 1m
  metrics_file: out/metrics.jsonl
  checkpoints: {directory: ckpt, completion_file: DONE}
allow_overrides:
  - resources.gpus
  - resources.time_limit
  - runtime_env.*
)";

Template gpu() {
  return parse_template(whole, "gpu.yaml").value();
}
std::string error_of(std::string_view text) {
  const auto result = parse_template(text, "t.yaml");
  return result ? "" : result.error().text();
}
std::string error_of(const Result<ExecutionRequest>& result) {
  return result ? "" : result.error().text();
}

TEST(Template, WholeFile_R3) {
  const auto parsed = parse_template(whole, "gpu.yaml");
  ASSERT_TRUE(parsed) << parsed.error().text();
  const TemplateValues& values = parsed->defaults;
  EXPECT_EQ(parsed->id, "gpu");
  EXPECT_FALSE(values.detach);
  EXPECT_EQ(values.resources.gpus, 2);
  EXPECT_EQ(values.resources.gpu_memory_bytes, 20LL << 30);
  EXPECT_EQ(values.resources.cpus, 8);
  EXPECT_EQ(values.resources.memory_bytes, 64LL << 30);
  EXPECT_EQ(values.resources.disk_bytes, 10'000'000'000);
  EXPECT_EQ(values.resources.time_limit_s, 9000);
  EXPECT_EQ(values.runtime_env.at("OMP_NUM_THREADS"), "007");
  EXPECT_EQ(values.runtime_env.at("LD_PRELOAD"), "/usr/lib/libjemalloc.so");
  ASSERT_TRUE(values.environment);
  EXPECT_EQ(values.environment->python, "3.10");
  EXPECT_EQ(values.environment->packages.at("torch"), ">=2.1,<3");
  EXPECT_EQ(values.stop_grace_s, 60);
  EXPECT_EQ(values.metrics_file, "out/metrics.jsonl");
  EXPECT_EQ(values.checkpoints.directory, "ckpt");
  EXPECT_EQ(values.checkpoints.completion_file, "DONE");
  EXPECT_EQ(parsed->allow_overrides.size(), 3U);
}

TEST(Template, DigestIgnoresCommentsAndLayout_R3) {
  const auto a = parse_template("id: x\nplacement: local\nlaunch: host_process\n", "x.yaml");
  const auto b = parse_template("# hello\nlaunch:   host_process\n\nplacement: 'local'\nid: x\n", "x.yaml");
  const auto c =
      parse_template("id: x\nplacement: local\nlaunch: host_process\ndefaults: {stop_grace: 11s}\n", "x.yaml");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(digest_of(*a), digest_of(*b));
  EXPECT_NE(digest_of(*a), digest_of(*c));
}

struct Bad {
  const char* text;
  const char* message;
};

TEST(Template, ErrorsNameFileLineAndKey_R3) {
  const std::string head = "id: t\nplacement: local\nlaunch: host_process\n";
  EXPECT_EQ(error_of(head + "defaultz:\n  detach: true\n"),
            "t.yaml:4: defaultz: unknown key (did you mean 'defaults'?)");
  EXPECT_EQ(error_of(head + "defaults:\n  resources:\n    gpu: 1\n"),
            "t.yaml:6: defaults.resources.gpu: unknown key (did you mean 'gpus'?)");
  EXPECT_EQ(error_of("id: t\nplacement: lokal\nlaunch: host_process\n"),
            "t.yaml:2: placement: 'lokal' is not allowed here (one of local, node, ssh, targon_rental)");
  EXPECT_EQ(error_of("id: t\nlaunch: host_process\n"), "t.yaml:1: placement: is missing");
  const std::vector<Bad> table{
      {"defaults: {resources: {gpus: -1}}", "t.yaml:4: defaults.resources.gpus: '-1' is not a whole number"},
      {"defaults: {resources: {gpus: 1.5}}", "defaults.resources.gpus: '1.5' is not a whole number"},
      {"defaults: {resources: {gpus: 99999999999}}", "is not a whole number from 0 to 1024"},
      {"defaults: {resources: {cpus: 0}}", "from 1 to 65536"},
      {"defaults: {resources: {gpu_memory: 20 apples}}", "defaults.resources.gpu_memory: '20 apples' is not a size"},
      {"defaults: {resources: {memory: 0}}", "more than nothing"},
      {"defaults: {resources: {time_limit: soon}}", "defaults.resources.time_limit"},
      {"defaults: {resources: {time_limit: 0s}}", "defaults.resources.time_limit: '0s' is not from 1s"},
      {"defaults: {detach: maybe}", "defaults.detach: 'maybe' is not true or false"},
      {"defaults: {stop_grace: 2d}", "defaults.stop_grace"},
      {"defaults: {runtime_env: {1A: x}}", "'1A' is not a name of an environment variable"},
      {"defaults: {runtime_env: {A-B: x}}", "'A-B' is not a name of an environment variable"},
      {"defaults: {runtime_env: {A.B: x}}", "'A.B' is not a name of an environment variable"},
      {"defaults: {runtime_env: {ORBIT_X: x}}", "ORBIT_ are orbit's own"},
      {"defaults: {runtime_env: {A: [x]}}", "expected a string"},
      {"defaults: {metrics_file: /etc/passwd}", "is an absolute path"},
      {"defaults: {metrics_file: ../x}", "climbs"},
      {"defaults: {metrics_file: stdout}", "used by orbit itself"},
      {"defaults: {checkpoints: {directory: .}}", "the folder artifacts/ itself"},
      {"defaults: {checkpoints: {completion_file: a/b}}", "is not the name of a file"},
      {"defaults: {checkpoints: {directorie: a}}", "did you mean 'directory'?"},
      {"defaults: {image: debian}", "has no meaning where the launch mode is host_process"},
      {"defaults: {target: gpu01}", "has no meaning where the placement is local"},
      {"defaults: {environment: none}", "'none' is not an environment"},
      {"defaults: {environment: {}}", "says nothing of the environment"},
      {"defaults: {environment: {phyton: 3}}", "did you mean 'python'?"},
      {"defaults: {environment: {python: latest}}", "defaults.environment.python: 'latest' is not a version"},
      {"defaults: {environment: {packages: {'a b': '1'}}}", "is not the name of a package"},
      {"allow_overrides: [resources.gpu]",
       "t.yaml:4: allow_overrides[0]: 'resources.gpu' is not a key of a template (did you mean 'resources.gpus'?)"},
      {"allow_overrides: ['*']", "is not a key of a template"},
      {"allow_overrides: [environment.python]", "an environment is not overridden"},
      {"allow_overrides: all", "expected a list"},
      {"id2: x", "id2: unknown key"},
  };
  for (const Bad& bad : table) {
    const std::string text = error_of(head + bad.text + "\n");
    EXPECT_NE(text.find(bad.message), std::string::npos) << bad.text << " -> " << text;
    EXPECT_EQ(text.rfind("t.yaml:4: ", 0), 0U) << text;
  }
  EXPECT_NE(error_of("id: ../x\nplacement: local\nlaunch: host_process\n").find("is not a name"), std::string::npos);
  EXPECT_NE(error_of("- a\n"), "");
  EXPECT_NE(error_of("word\n"), "");
}

TEST(Template, ResolveAppliesWhatIsAllowed_R1_R3) {
  const auto request = resolve(gpu(), {{"gpus", "4"}, {"time_limit", "1h"}},
                               {{"runtime_env.OMP_NUM_THREADS", "2"}, {"runtime_env.MODE", ""}});
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->values.resources.gpus, 4);
  EXPECT_EQ(request->values.resources.time_limit_s, 3600);
  EXPECT_EQ(request->values.resources.memory_bytes, 64LL << 30);
  EXPECT_EQ(request->values.runtime_env.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(request->values.runtime_env.at("MODE"), "");
  EXPECT_EQ(request->values.runtime_env.at("LD_PRELOAD"), "/usr/lib/libjemalloc.so");
  const auto untouched = resolve(gpu(), {}, {});
  ASSERT_TRUE(untouched);
  EXPECT_EQ(untouched->values.resources.gpus, 2);
  const auto as_override = resolve(gpu(), {}, {{"resources.gpus", "1"}});
  ASSERT_TRUE(as_override);
  EXPECT_EQ(as_override->values.resources.gpus, 1);
}

TEST(Template, OverrideNotAllowedNamesKeyTemplateAndList_R3) {
  EXPECT_EQ(error_of(resolve(gpu(), {{"cpus", "4"}}, {})),
            "resources.cpus: template 'gpu' does not allow 'resources.cpus' to be set (it allows: resources.gpus, "
            "resources.time_limit, runtime_env.*)");
  EXPECT_EQ(error_of(resolve(gpu(), {}, {{"stop_grace", "5s"}})),
            "overrides.stop_grace: template 'gpu' does not allow 'stop_grace' to be set (it allows: resources.gpus, "
            "resources.time_limit, runtime_env.*)");
  EXPECT_EQ(error_of(resolve(gpu(), {{"gpuz", "4"}}, {})),
            "resources.gpuz: unknown key (did you mean 'resources.gpus'?)");
  EXPECT_EQ(error_of(resolve(gpu(), {}, {{"gpus", "4"}})),
            "overrides.gpus: unknown key (did you mean 'resources.gpus'?)");
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"", "4"}})).find("unknown key"), std::string::npos);
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"runtime_env.", "4"}})).find("unknown key"), std::string::npos);
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"placement", "node"}})).find("unknown key"), std::string::npos);
  Template closed = gpu();
  closed.allow_overrides.clear();
  EXPECT_NE(error_of(resolve(closed, {{"gpus", "1"}}, {})).find("it allows nothing to be set"), std::string::npos);
}

TEST(Template, HostileOverrides_X4) {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "ORBIT_TOKEN", "CUDA_VISIBLE_DEVICES", "A=B", "A B", "1A", "A\nB", "\xff"})
    EXPECT_NE(error_of(resolve(gpu(), {}, {{std::string("runtime_env.") + name, "x"}})), "") << name;
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"runtime_env.A", std::string("x\0y", 3)}})), "");
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"runtime_env.A", "\xff\xfe"}})), "");
  EXPECT_NE(error_of(resolve(gpu(), {}, {{"runtime_env.A", std::string(40'000, 'x')}})), "");
  EXPECT_EQ(error_of(resolve(gpu(), {}, {{"runtime_env.A", "line\nline"}})), "");
  EXPECT_NE(error_of(resolve(gpu(), {{"gpus", ""}}, {})), "");
  EXPECT_NE(error_of(resolve(gpu(), {{"gpus", "1"}}, {{"resources.gpus", "2"}})).find("given twice"),
            std::string::npos);
}

TEST(Template, MeaninglessCombinations) {
  Template local = gpu();
  local.defaults.resources = {};
  local.allow_overrides = {"resources.*", "image", "target"};
  EXPECT_NE(error_of(resolve(local, {{"gpu_memory", "1GiB"}}, {})).find("no GPU"), std::string::npos);
  EXPECT_EQ(error_of(resolve(local, {{"gpu_memory", "1GiB"}, {"gpus", "1"}}, {})), "");
  EXPECT_NE(error_of(resolve(local, {}, {{"image", "debian:12"}})).find("overrides.image: has no meaning"),
            std::string::npos);
  EXPECT_NE(error_of(resolve(local, {}, {{"target", "gpu01"}})).find("overrides.target: has no meaning"),
            std::string::npos);
  local.launch = LaunchMode::docker_image;
  local.placement = PlacementKind::node;
  EXPECT_NE(error_of(resolve(local, {}, {})).find("overrides.image"), std::string::npos);
  EXPECT_EQ(error_of(resolve(local, {}, {{"image", "debian:12"}, {"target", "gpu01"}})), "");
  EXPECT_NE(error_of(resolve(local, {}, {{"image", "--privileged"}})), "");
}

TEST(Template, ShippedOnesAreReadAndUsable) {
  const auto shipped = shipped_templates();
  ASSERT_TRUE(shipped.contains("local-host"));
  for (const auto& [id, text] : shipped) {
    const auto parsed = parse_template(text, id + ".yaml");
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->id, id);
    std::ifstream file(std::string(ORBIT_SOURCE_DIR "/examples/templates/") + id + ".yaml");
    EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {})) << "one source";
  }
  const auto base = parse_template(shipped.at("local-host"), "local-host.yaml");
  EXPECT_EQ(base->placement, PlacementKind::local);
  EXPECT_EQ(base->launch, LaunchMode::host_process);
  const auto request = resolve(*base, {{"cpus", "1"}, {"time_limit", "5m"}},
                               {{"runtime_env.OMP_NUM_THREADS", "1"}, {"stop_grace", "2s"}});
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->values.resources.time_limit_s, 300);
}

TEST(Profile, StandardFile_N3) {
  const auto profile = parse_profile("python: \">=3.9\"\npackages:\n  numpy: 1.20\n  torch: any\n", "p.yaml");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->packages.at("numpy"), "1.20");
  const auto any = parse_profile("any\n", "p.yaml");
  ASSERT_TRUE(any);
  EXPECT_TRUE(any->any);
  const auto wrong = parse_profile("python: 3.10\npackages:\n  numpy: =1.20\n", "p.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("p.yaml:3: packages.numpy: '=1.20' is not a comparison"), std::string::npos)
      << wrong.error().text();
  EXPECT_FALSE(parse_profile("none\n", "p.yaml"));
  EXPECT_FALSE(parse_profile("{}\n", "p.yaml"));
  EXPECT_FALSE(parse_profile("", "p.yaml"));
}

TEST(Profile, NothingAtAllIsRefused_N3) {
  const auto nothing = check_profile(EnvironmentProfile{}, "environment");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().field, "environment");
  EXPECT_NE(nothing.error().hint.find("'any'"), std::string::npos);
  EnvironmentProfile both;
  both.any = true;
  both.python = "3.10";
  EXPECT_FALSE(check_profile(both, "environment"));
  EnvironmentProfile bad;
  bad.os = "windows or so";
  const auto checked = check_profile(bad, "environment");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().field, "environment.os");
}

}  // namespace
}  // namespace orbit::spec
