#include "orbit/spec/task_type.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

#include "orbit/spec/embedded.hpp"

namespace orbit::spec {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* benchmark = R"(id: benchmark
description: Measures something
inputs:
  data: {kind: data, required: false}
  report: {kind: output}
  note: {kind: text, required: false, description: free words}
params:
  type: object
  additionalProperties: false
  required: [lr]
  properties:
    lr: {type: number, exclusiveMinimum: 0, maximum: 1}
    steps: {type: integer, minimum: 1}
    tag: {type: string, pattern: "^[a-z]+$"}
    note: {type: string}
    optimizer: {enum: [sgd, adam]}
    fast: {type: boolean}
    layers: {type: array, items: {type: integer}}
    options: {type: object}
    mixed: {type: [number, string]}
argv:
  - "{entry}"
  - --lr
  - "{param.lr}"
  - "--data={input.data}"
  - "--to={output.report}"
  - "{{literal}}"
  - "{params}"
)";

Submission training() {
  Submission out;
  out.project = "p";
  out.task = "training";
  out.template_id = "local-host";
  out.entry = "train.py";
  out.inputs = {{"dataset", "data/digits.csv.gz"}, {"output", "model.npz"}};
  return out;
}
Submission measured() {
  Submission out;
  out.task = "benchmark";
  out.entry = "bench.sh";
  out.inputs = {{"report", "report.json"}};
  out.params = {{"lr", "0.10"}};
  return out;
}
Result<ShapedTask> shape_as(const TaskType& type, const Submission& submission) {
  EnvironmentProfile any;
  any.any = true;
  return shape(type, submission, ExecutionRequest{}, any);
}
Result<ShapedTask> shape_as(const std::string& type, const Submission& submission) {
  return shape_as(built_in_task_types().at(type), submission);
}
TaskType declared() {
  return parse_task_type(benchmark, "benchmark.yaml").value();
}
std::string error_of(const Result<ShapedTask>& result) {
  return result ? "" : result.error().text();
}
std::string error_of(const std::string& text) {
  const auto result = parse_task_type(text, "t.yaml");
  return result ? "" : result.error().text();
}

TEST(TaskType, BuiltInOnes_R4) {
  for (const EmbeddedFile& file : embedded_task_types()) {
    const auto parsed = parse_task_type(file.text, file.stem);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->id, file.stem);
  }
  const auto& types = built_in_task_types();
  ASSERT_EQ(types.size(), 4U);
  EXPECT_EQ(types.at("training").inputs.at("dataset").kind, InputKind::data);
  EXPECT_EQ(types.at("training").inputs.at("output").kind, InputKind::output);
  EXPECT_EQ(types.at("evaluation").inputs.at("model").kind, InputKind::data);
  EXPECT_EQ(types.at("evaluation").inputs.at("environments").kind, InputKind::text);
  EXPECT_EQ(types.at("collection").inputs.at("source").kind, InputKind::text);
  EXPECT_EQ(types.at("collection").inputs.at("output").kind, InputKind::output);
  for (const auto& [id, type] : types) {
    EXPECT_EQ(type.ad_hoc, id == "command") << id;
    EXPECT_EQ(type.needs_entry, id != "command") << id;
    for (const auto& [name, rule] : type.inputs) EXPECT_TRUE(rule.required) << id << " " << name;
  }
}

TEST(Shape, Training_R4) {
  Submission submission = training();
  submission.params = {{"lr", "0.10"}, {"epochs", "20"}, {"note", "it's $HOME; rm -rf /"}, {"flag", "true"}};
  submission.resume_argument = "--resume";
  ExecutionRequest request;
  request.values.metrics_file = "m.jsonl";
  request.values.checkpoints.directory = "ckpt";
  EnvironmentProfile profile;
  profile.python = "3.10";
  const auto shaped = shape(built_in_task_types().at("training"), submission, request, profile);
  ASSERT_TRUE(shaped) << shaped.error().text();
  EXPECT_EQ(shaped->argv, (Words{"./train.py", "--dataset=data/digits.csv.gz", "--output=$ORBIT_ARTIFACTS/model.npz",
                                 "--epochs=20", "--flag=true", "--lr=0.10", "--note=it's $HOME; rm -rf /"}));
  EXPECT_EQ(shaped->data_inputs, Words{"dataset"});
  const JobSpec& job = shaped->job;
  EXPECT_EQ(job.task, "training");
  EXPECT_EQ(job.entry, "scripts/entrypoint.sh");
  EXPECT_EQ(job.code_entry, "train.py");
  EXPECT_EQ(job.inputs.at("dataset"), "data/digits.csv.gz");
  EXPECT_EQ(job.outputs, Words{"model.npz"});
  EXPECT_EQ(job.params.at("lr"), "0.10");
  EXPECT_EQ(job.params.at("note"), "\"it's $HOME; rm -rf /\"");
  EXPECT_EQ(job.metrics_file, "m.jsonl");
  EXPECT_EQ(job.checkpoints.directory, "ckpt");
  EXPECT_EQ(job.environment.python, "3.10");
}

TEST(Shape, PathsOfDataInputs_X4) {
  const auto dataset = [](const std::string& path) {
    Submission submission = training();
    submission.inputs["dataset"] = path;
    return shape_as("training", submission);
  };
  EXPECT_EQ(dataset("./data//sub/../x.gz").error().field, "inputs.dataset");
  EXPECT_EQ(dataset("./data//x.gz").value().job.inputs.at("dataset"), "data/x.gz");
  EXPECT_EQ(dataset("data/").value().job.inputs.at("dataset"), "data");
  EXPECT_EQ(dataset(".").value().job.inputs.at("dataset"), ".");
  EXPECT_EQ(dataset("/srv/data/../x").value().job.inputs.at("dataset"), "/srv/data/../x");
  for (const char* path : {"..", "../x", "a/../../x", "", "a\nb", "\xff", "s3://bucket/x", "https://example.org/x"})
    EXPECT_EQ(dataset(path).error().field, "inputs.dataset") << path;
  EXPECT_FALSE(dataset(std::string("a\0b", 3)));
  EXPECT_FALSE(dataset(std::string(5000, 'x')));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "a/";
  EXPECT_FALSE(dataset(deep));
}

TEST(Shape, InputsAreRequiredAndKnown) {
  Submission submission = training();
  submission.inputs.erase("dataset");
  EXPECT_EQ(error_of(shape_as("training", submission)),
            "inputs.dataset: is missing: task 'training' requires it (wanted: a file or folder: relative to the code, "
            "or absolute (what is trained on))");
  submission = training();
  submission.inputs["datasett"] = "x";
  EXPECT_EQ(error_of(shape_as("training", submission)), "inputs.datasett: unknown key (did you mean 'dataset'?)");
  submission = training();
  submission.entry.reset();
  EXPECT_EQ(shape_as("training", submission).error().field, "entry");
  for (const char* entry : {"", ".", "../train.py", "/usr/bin/python3", "a/../../b", "a\nb"}) {
    submission.entry = entry;
    EXPECT_EQ(shape_as("training", submission).error().field, "entry") << entry;
  }
  submission.entry = "./src//train.py";
  EXPECT_EQ(shape_as("training", submission).value().argv.front(), "./src/train.py");
  EXPECT_EQ(shape_as("training", submission).value().job.code_entry, "src/train.py");
  submission.command = {"ls"};
  EXPECT_EQ(shape_as("training", submission).error().field, "command");
}

TEST(Shape, Outputs) {
  Submission submission = training();
  submission.inputs["output"] = "b/model.npz, a.json";
  const auto shaped = shape_as("training", submission);
  ASSERT_TRUE(shaped) << shaped.error().text();
  EXPECT_EQ(shaped->job.outputs, (Words{"a.json", "b/model.npz"}));
  EXPECT_EQ(shaped->argv, (Words{"./train.py", "--dataset=data/digits.csv.gz", "--output=$ORBIT_ARTIFACTS/b/model.npz",
                                 "--output=$ORBIT_ARTIFACTS/a.json"}));
  for (const char* output : {"../x", "/tmp/x", "a,,b", ",", "a,a", "stdout", "stderr", "resume/x", ".", "$HOME\n"}) {
    submission.inputs["output"] = output;
    EXPECT_EQ(shape_as("training", submission).error().field, "inputs.output") << output;
  }
}

TEST(Shape, CommandIsVerbatim) {
  Submission submission;
  submission.task = "command";
  submission.command = {"nvidia-smi", "-q", "$(id)", "a b", ""};
  const auto shaped = shape_as("command", submission);
  ASSERT_TRUE(shaped) << shaped.error().text();
  EXPECT_EQ(shaped->argv, submission.command);
  EXPECT_EQ(shaped->job.code_entry, "");
  submission.command = {"tools/x.sh"};
  EXPECT_EQ(shape_as("command", submission).value().argv, Words{"./tools/x.sh"});
  EXPECT_EQ(shape_as("command", submission).value().job.code_entry, "");
  submission.command = {"/bin/true"};
  EXPECT_EQ(shape_as("command", submission).value().argv, Words{"/bin/true"});
  for (const Words& command :
       {Words{}, Words{""}, Words{"-x"}, Words{"../x"}, Words{"a/../../x"}, Words{"x\ny"}, Words{"ls", "\xff"},
        Words{"ls", std::string("\0", 1)}, Words{"ls", std::string(200'000, 'x')}, Words(20'000, "x")}) {
    submission.command = command;
    EXPECT_FALSE(shape_as("command", submission)) << (command.empty() ? "" : command.front());
  }
  submission.command = {"ls"};
  submission.params = {{"a", "1"}};
  EXPECT_EQ(shape_as("command", submission).error().field.substr(0, 6), "params");
  submission.params.clear();
  submission.entry = "x";
  EXPECT_EQ(shape_as("command", submission).error().field, "entry");
}

struct Typed {
  const char* key;
  const char* text;
  const char* source;  // "": an error that names params.<key>
};

TEST(Shape, ParamsAreTypedBySchemaAndKeptVerbatim_R1) {
  const std::vector<Typed> table{
      {"lr", "0.10", "0.10"},
      {"lr", "1e-3", "1e-3"},
      {"lr", "1", "1"},
      {"lr", "1.0", "1.0"},
      {"lr", "0", ""},
      {"lr", "1.01", ""},
      {"lr", "-0.5", ""},
      {"lr", ".5", ""},
      {"lr", "0,5", ""},
      {"lr", "abc", ""},
      {"lr", "\"0.1\"", ""},
      {"lr", "", ""},
      {"lr", " 0.1", ""},
      {"lr", "NaN", ""},
      {"lr", "null", ""},
      {"lr", "[0.1]", ""},
      {"steps", "10", "10"},
      {"steps", "10.0", ""},
      {"steps", "0", ""},
      {"steps", "1e3", ""},
      {"steps", "true", ""},
      {"tag", "abc", "\"abc\""},
      {"tag", "\"abc\"", "\"abc\""},
      {"tag", "ABC", ""},
      {"tag", "1", ""},  // the text "1" does not match the pattern
      {"note", "0.10", "\"0.10\""},
      {"note", "true", "\"true\""},
      {"note", "null", "\"null\""},
      {"note", "[1]", "\"[1]\""},
      {"note", "", "\"\""},
      {"note", "a \"b\"\n\\", "\"a \\\"b\\\"\\n\\\\\""},
      {"note", "\"\\u0000\"", ""},
      {"note", "\xff", ""},
      {"optimizer", "sgd", "\"sgd\""},
      {"optimizer", "sdg", ""},
      {"fast", "true", "true"},
      {"fast", "True", ""},
      {"fast", "1", ""},
      {"layers", "[64, 32]", "[64, 32]"},
      {"layers", "[64, 1.5]", ""},
      {"layers", "64", ""},
      {"layers", "[64,", ""},
      {"options", "{\"a\": 1.0}", "{\"a\": 1.0}"},
      {"options", "a=1", ""},
      {"mixed", "0.10", "0.10"},
      {"mixed", "x", "\"x\""},
      {"mixed", "true", "\"true\""},
  };
  const TaskType type = declared();
  for (const Typed& row : table) {
    Submission submission = measured();
    submission.params[row.key] = row.text;
    const auto shaped = shape_as(type, submission);
    if (*row.source == '\0') {
      ASSERT_FALSE(shaped) << row.key << "=" << row.text;
      EXPECT_EQ(shaped.error().field, std::string("params.") + row.key) << row.text;
      EXPECT_FALSE(shaped.error().message.empty());
    } else {
      ASSERT_TRUE(shaped) << row.key << "=" << row.text << ": " << shaped.error().text();
      EXPECT_EQ(shaped->job.params.at(row.key), row.source);
    }
  }
}

TEST(Shape, ParamErrorsSayWhatIsWanted) {
  const TaskType type = declared();
  Submission submission = measured();
  submission.params["lr"] = "fast";
  EXPECT_EQ(error_of(shape_as(type, submission)),
            "params.lr: 'fast' is of another type (wanted: a number, as JSON writes it, more than 0, at most 1)");
  submission.params["lr"] = "1.5";
  EXPECT_NE(error_of(shape_as(type, submission)).find("params.lr: '1.5' is not allowed: "), std::string::npos);
  submission = measured();
  submission.params["optimizer"] = "sdg";
  EXPECT_NE(error_of(shape_as(type, submission)).find("wanted: one of \"sgd\", \"adam\""), std::string::npos);
  submission = measured();
  submission.params.erase("lr");
  EXPECT_EQ(error_of(shape_as(type, submission)),
            "params.lr: is missing (wanted: a number, as JSON writes it, more than 0, at most 1)");
  submission = measured();
  submission.params["stepz"] = "1";
  EXPECT_EQ(error_of(shape_as(type, submission)), "params.stepz: unknown key (did you mean 'steps'?)");
  for (const char* key : {"", "-x", "a=b", "a b", "a\nb", "1a", "\xff", "--"}) {
    submission = training();
    submission.params[key] = "1";
    EXPECT_EQ(shape_as("training", submission).error().field.substr(0, 7), "params.") << key;
  }
}

TEST(Shape, WithoutASchemaLiteralsStayAndWordsBecomeStrings) {
  const std::vector<Typed> table{{"a", "0.10", "0.10"},
                                 {"a", "true", "true"},
                                 {"a", "null", "null"},
                                 {"a", "[1, 2.0]", "[1, 2.0]"},
                                 {"a", "{\"x\":1.0}", "{\"x\":1.0}"},
                                 {"a", "\"0.10\"", "\"0.10\""},
                                 {"a", "007", "\"007\""},
                                 {"a", "1.", "\"1.\""},
                                 {"a", "hello", "\"hello\""},
                                 {"a", "1 ", "\"1 \""},
                                 {"a", "", "\"\""},
                                 {"a", "nan", "\"nan\""},
                                 {"a", "1e400", "1e400"},
                                 {"a", "123456789012345678901234567890", "123456789012345678901234567890"}};
  for (const Typed& row : table) {
    Submission submission = training();
    submission.params = {{row.key, row.text}};
    const auto shaped = shape_as("training", submission);
    ASSERT_TRUE(shaped) << row.text << ": " << shaped.error().text();
    EXPECT_EQ(shaped->job.params.at(row.key), row.source) << row.text;
  }
}

TEST(Shape, EntryTemplate_R4) {
  Submission submission = measured();
  submission.params = {{"lr", "0.10"}, {"steps", "5"}};
  const auto without = shape_as(declared(), submission);
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_EQ(without->argv,
            (Words{"./bench.sh", "--lr", "0.10", "--to=$ORBIT_ARTIFACTS/report.json", "{literal}", "--steps=5"}));
  submission.inputs["data"] = "/srv/x";
  const auto with = shape_as(declared(), submission);
  ASSERT_TRUE(with);
  EXPECT_EQ(with->argv[3], "--data=/srv/x");
  EXPECT_EQ(with->data_inputs, Words{"data"});
}

TEST(Shape, FixedPrograms) {
  const auto type = parse_task_type("id: t\nargv: [/usr/bin/python3, -m, pytest, '{params}']\n", "t.yaml");
  ASSERT_TRUE(type) << type.error().text();
  EXPECT_FALSE(type->needs_entry);
  Submission submission;
  submission.params = {{"k", "x y"}};
  const auto shaped = shape_as(*type, submission);
  ASSERT_TRUE(shaped) << shaped.error().text();
  EXPECT_EQ(shaped->argv, (Words{"/usr/bin/python3", "-m", "pytest", "--k=x y"}));
  EXPECT_EQ(shaped->job.code_entry, "");
  const auto script = parse_task_type("id: t\nargv: [./tools/bench.sh]\n", "t.yaml");
  ASSERT_TRUE(script);
  EXPECT_EQ(shape_as(*script, Submission{}).value().job.code_entry, "tools/bench.sh");
}

TEST(Shape, ResumeArgument) {
  Submission submission = training();
  for (const char* argument : {"", "-", "--", "resume", "--a b", "--a;b", "--a=$(id)", "--a\n"}) {
    submission.resume_argument = argument;
    EXPECT_EQ(shape_as("training", submission).error().field, "resume_argument") << argument;
  }
  submission.resume_argument = "--resume-from";
  EXPECT_TRUE(shape_as("training", submission));
}

TEST(TaskType, ErrorsNameFileLineAndKey_R4) {
  struct Bad {
    const char* text;
    const char* message;
  };
  const std::vector<Bad> table{
      {"inputz: {}", "t.yaml:2: inputz: unknown key (did you mean 'inputs'?)"},
      {"inputs:\n  a: {kind: dato}", "t.yaml:3: inputs.a.kind: 'dato' is not allowed here (one of data, output, text)"},
      {"inputs:\n  a: {required: true}", "t.yaml:3: inputs.a.kind: is missing"},
      {"inputs:\n  a: {kind: data, required: maybe}", "t.yaml:3: inputs.a.required: 'maybe' is not true or false"},
      {"inputs:\n  a b: {kind: data}", "is not a name"},
      {"argv: []", "t.yaml:2: argv: is an empty command line"},
      {"argv: ['{entri}']", "t.yaml:2: argv[0]: '{entri}' is not a placeholder"},
      {"argv: ['{entry']", "a '{' is not closed"},
      {"argv:\n  - '{entry}'\n  - '--x={params}'", "t.yaml:4: argv[1]: {params} and {command} stand for several words"},
      {"argv: ['{entry}', '{input.a}']", "argv[1]: there is no input 'a'"},
      {"inputs: {ab: {kind: text}}\nargv: ['{entry}', '{input.ac}']", "did you mean 'ab'?"},
      {"inputs: {ab: {kind: text}}\nargv: ['{entry}', '{output.ab}']", "there is no output 'ab'"},
      {"inputs: {ab: {kind: text}}\nargv: ['{input.ab}']", "the program cannot be made of values"},
      {"argv: ['{params}']", "the program cannot be made of values"},
      {"argv: ['x{entry}']", "the program cannot be made of values"},
      {"argv: [python3, x.py]", "'python3' is not a path"},
      {"params: {type: strin}", "t.yaml:2: params: not a JSON Schema"},
      {"params:\n  properties:\n    a: {minumum: 1}",
       "t.yaml:4: params.properties.a.minumum: unknown key (did you mean 'minimum'?)"},
      {"params:\n  properties:\n    a: {$ref: '#/x'}", "t.yaml:4: params.properties.a.$ref: references"},
      {"params: {properties: {a: {pattern: '('}}}", "not a regular expression"},
      {"params: {properties: [1]}", "expected a map of schemas"},
      {"params: {required: lr}", "params.required: expected a list"},
      {"params: {anyOf: {}}", "expected a list of schemas"},
      {"params: {minProperties: x}", "not a JSON Schema"},
      {"params: 5", "expected a JSON Schema"},
      {"params: {additionalProperties: false, properties: {lr: {}}}\nargv: ['{entry}', '{param.lx}']",
       "t.yaml:3: argv[1]: there is no param 'lx' (did you mean 'lr'?)"},
  };
  for (const Bad& bad : table) {
    const std::string text = error_of(std::string("id: t\n") + bad.text + "\n");
    EXPECT_NE(text.find(bad.message), std::string::npos) << bad.text << " -> " << text;
  }
  EXPECT_NE(error_of("id: Not A Name\n").find("t.yaml:1: id"), std::string::npos);
}

TEST(TaskType, PatternsCannotOverflowTheStack_X4) {
  const auto type = parse_task_type(
      "id: t\nparams: {properties: {a: {type: string, pattern: '^(a|b)*$'}}}\nargv: [/bin/true]\n", "t.yaml");
  ASSERT_TRUE(type) << type.error().text();
  Submission submission;
  submission.params = {{"a", std::string(60'000, 'a')}};
  const auto shaped = shape_as(*type, submission);
  ASSERT_FALSE(shaped);
  EXPECT_EQ(shaped.error().field, "params.a");
  submission.params = {{"a", std::string(1000, 'a')}};
  EXPECT_TRUE(shape_as(*type, submission));
  submission.params = {{"a", std::string(100'000, 'a')}};
  EXPECT_EQ(shape_as(*type, submission).error().code, ErrorCode::too_large);
  submission.params.clear();
  for (int i = 0; i < 2000; ++i) submission.params["k" + std::to_string(i)] = "1";
  EXPECT_FALSE(shape_as(*type, submission));
}

TEST(TaskType, WholeObjectRulesAreChecked) {
  const auto type = parse_task_type(
      "id: t\nparams: {type: object, dependencies: {a: [b]}, patternProperties: {'^n_': {type: integer}}}\nargv: "
      "[/bin/true]\n",
      "t.yaml");
  ASSERT_TRUE(type) << type.error().text();
  Submission submission;
  submission.params = {{"a", "1"}};
  EXPECT_EQ(shape_as(*type, submission).error().field, "params");
  submission.params = {{"a", "1"}, {"b", "2"}};
  EXPECT_TRUE(shape_as(*type, submission));
  submission.params = {{"n_x", "word"}};
  EXPECT_FALSE(shape_as(*type, submission));
}

class TaskTypeDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "orbit-spec-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name;
  }
  void TearDown() override { fs::remove_all(directory); }
  fs::path directory;
};

TEST_F(TaskTypeDirectory, DeclaredByFileWithoutRecompiling_R4_U8) {
  EXPECT_EQ(load_task_types(directory / "missing").value().size(), 4U);
  std::ofstream(directory / "benchmark.yaml") << benchmark;
  const auto types = load_task_types(directory);
  ASSERT_TRUE(types) << types.error().text();
  EXPECT_EQ(types->size(), 5U);
  EXPECT_TRUE(types->contains("benchmark"));
  std::ofstream(directory / "training.yaml") << "id: training\n";
  const auto taken = load_task_types(directory);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().text().find("built-in"), std::string::npos);
}

TEST(TaskType, ExamplesAreRead) {
  const auto types = load_task_types(ORBIT_SOURCE_DIR "/examples/task-types");
  ASSERT_TRUE(types) << types.error().text();
  EXPECT_GT(types->size(), 4U);
}

RC_GTEST_PROP(Shape, AnyTextIsAParamOrAnError, (const std::string& key, const std::string& text)) {
  Submission submission = training();
  submission.params = {{key, text}};
  const auto shaped = shape_as("training", submission);
  if (shaped) {
    RC_ASSERT(json::parse(shaped->job.params.at(key)).has_value());
  } else {
    RC_ASSERT(shaped.error().field.starts_with("params"));
  }
}

}  // namespace
}  // namespace orbit::spec
