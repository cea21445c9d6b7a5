#include "orbit/spec/run_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "orbit/spec/task_type.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::spec {
namespace {

constexpr const char* whole = R"(project: digits
create_project: true
task: training
name: first-try
experiment: learning-rate
tags: [cpu, small]
template: local-host
code:
  source: ../repo
  entry: train.py
  revision: v1.0
  allow_dirty: true
  key_files: [requirements.txt, "conf/*.yaml"]
params:
  lr: 0.10
  epochs: 20
  name: "0.10"
  note: plain words
  fast: True
  layers: [64, 32.0]
inputs:
  dataset: data/digits.csv.gz
  output: model.npz
resources:
  cpus: 1
  time_limit: 5m
overrides:
  runtime_env.OMP_NUM_THREADS: 1
  checkpoints:
    directory: ckpt
environment:
  python: ">=3.9"
  packages: {numpy: ">=1.20"}
resume_argument: --resume
)";

std::string error_of(const std::string& text) {
  const auto result = parse_run_file(text, "run.yaml");
  return result ? "" : result.error().text();
}

TEST(RunFile, Whole) {
  const auto file = parse_run_file(whole, "run.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->source, "../repo");
  EXPECT_EQ(file->revision, "v1.0");
  EXPECT_TRUE(file->allow_dirty);
  EXPECT_TRUE(file->create_project);
  EXPECT_EQ(file->key_files, (std::vector<std::string>{"requirements.txt", "conf/*.yaml"}));
  const Submission& submission = file->submission;
  EXPECT_EQ(submission.project, "digits");
  EXPECT_EQ(submission.task, "training");
  EXPECT_EQ(submission.name, "first-try");
  EXPECT_EQ(submission.experiment, "learning-rate");
  EXPECT_EQ(submission.tags, (std::vector<std::string>{"cpu", "small"}));
  EXPECT_EQ(submission.template_id, "local-host");
  EXPECT_EQ(submission.entry, "train.py");
  EXPECT_EQ(submission.params, (std::map<std::string, std::string>{{"lr", "0.10"},
                                                                   {"epochs", "20"},
                                                                   {"name", "\"0.10\""},
                                                                   {"note", "plain words"},
                                                                   {"fast", "true"},
                                                                   {"layers", "[64,32.0]"}}));
  EXPECT_EQ(submission.inputs.at("dataset"), "data/digits.csv.gz");
  EXPECT_EQ(submission.resources, (std::map<std::string, std::string>{{"cpus", "1"}, {"time_limit", "5m"}}));
  EXPECT_EQ(submission.overrides, (std::map<std::string, std::string>{{"runtime_env.OMP_NUM_THREADS", "1"},
                                                                      {"checkpoints.directory", "ckpt"}}));
  ASSERT_TRUE(submission.environment);
  EXPECT_EQ(submission.environment->python, ">=3.9");
  EXPECT_EQ(submission.resume_argument, "--resume");
}

TEST(RunFile, LittleIsEnough) {
  const auto file = parse_run_file("project: p\n", "run.yaml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->source, ".");
  EXPECT_FALSE(file->submission.environment);  // the project's is used
  EXPECT_TRUE(file->submission.task.empty());
  EXPECT_FALSE(file->create_project);
}

TEST(RunFile, ErrorsNameFileLineAndKey) {
  struct Bad {
    const char* text;
    const char* message;
  };
  const std::vector<Bad> table{
      {"porject: p", "run.yaml:1: porject: unknown key (did you mean 'project'?)"},
      {"project: p\ntemplatee: x", "run.yaml:2: templatee: unknown key (did you mean 'template'?)"},
      {"template_: x", "run.yaml:1: template_: unknown key (did you mean 'template'?)"},
      {"project: Not A Name", "run.yaml:1: project: 'Not A Name' is not a name"},
      {"project: p\ncode:\n  entri: x", "run.yaml:3: code.entri: unknown key (did you mean 'entry'?)"},
      {"project: p\ncreate_project: yes", "run.yaml:2: create_project: 'yes' is not true or false"},
      {"project: p\ncode:\n  allow_dirty: maybe", "run.yaml:3: code.allow_dirty: 'maybe' is not true or false"},
      {"project: p\ncode:\n  key_files: [../x]", "run.yaml:3: code.key_files[0]: '../x' climbs"},
      {"project: p\nresources:\n  gpu: 1", "run.yaml:3: resources.gpu: unknown key (did you mean 'gpus'?)"},
      {"project: p\noverrides:\n  imagee: x", "run.yaml:3: overrides.imagee: unknown key (did you mean 'image'?)"},
      {"project: p\noverrides:\n  resources:\n    gpuz: 1", "run.yaml:4: overrides.resources.gpuz: unknown key"},
      {"project: p\noverrides:\n  checkpoints.directory: a\n  checkpoints: {directory: b}", "given twice"},
      {"project: p\noverrides:\n  image: [a]", "run.yaml:3: overrides.image: expected a value"},
      {"project: p\nenvironment: {}", "run.yaml:2: environment: says nothing"},
      {"project: p\nenvironment:\n  python: newest", "run.yaml:3: environment.python: 'newest' is not a version"},
      {"project: p\nenvironment: some", "'some' is not an environment"},
      {"project: p\nparams:\n  a b: 1", "run.yaml:3: params.a b: 'a b' is not a name of a param"},
      {"project: p\nparams: [1]", "run.yaml:2: params: expected an object"},
      {"project: p\ninputs:\n  dataset: [a]", "run.yaml:3: inputs.dataset: expected a string"},
      {"project: p\ncommand: ls", "run.yaml:2: command: expected a list"},
      {"project: p\ntags: [Bad Tag]", "run.yaml:2: tags[0]"},
      {"- p", "run.yaml:1: expected an object"},
  };
  for (const Bad& bad : table) {
    const std::string text = error_of(std::string(bad.text) + "\n");
    EXPECT_NE(text.find(bad.message), std::string::npos) << bad.text << " -> " << text;
    EXPECT_EQ(text.find("template__"), std::string::npos) << text;
  }
}

TEST(RunFile, TheExampleIsShapedAndResolved_U6) {
  const std::string path = ORBIT_SOURCE_DIR "/examples/digits/run.yaml";
  std::ifstream stream(path);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto file = parse_run_file(text, path);
  ASSERT_TRUE(file) << file.error().text();
  const Submission& submission = file->submission;
  const auto base = parse_template(shipped_templates().at(submission.template_id), "local-host.yaml");
  ASSERT_TRUE(base);
  const auto request = resolve(*base, submission.resources, submission.overrides);
  ASSERT_TRUE(request) << request.error().text();
  ASSERT_TRUE(submission.environment);
  const auto shaped = shape(built_in_task_types().at(submission.task), submission, *request, *submission.environment);
  ASSERT_TRUE(shaped) << shaped.error().text();
  EXPECT_EQ(shaped->argv.front(), "./train.py");
  EXPECT_EQ(shaped->data_inputs, std::vector<std::string>{"dataset"});
}

TEST(RunFile, ExampleProfilesAreRead) {
  const auto document = std::ifstream(ORBIT_SOURCE_DIR "/examples/profiles/python-numpy.yaml");
  ASSERT_TRUE(document.is_open());
  std::ifstream stream(ORBIT_SOURCE_DIR "/examples/profiles/python-numpy.yaml");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto profile = parse_profile(text, "python-numpy.yaml");
  ASSERT_TRUE(profile) << profile.error().text();
}

}  // namespace
}  // namespace orbit::spec
