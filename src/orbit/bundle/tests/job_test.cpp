#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/bundle/raw_json.hpp"
#include "support.hpp"

namespace orbit::bundle {
namespace {

JobSpec rich_job() {
  JobSpec job = small_job();
  job.entry = "scripts/entrypoint.sh";
  job.params = {{"lr", "1e-4"},
                {"momentum", "1.0"},
                {"epochs", "20"},
                {"optimizer", "\"adam\""},
                {"layers", "[1, 2,  {\"a\": [ ]}]"},
                {"trap", "\"}, \\\"params\\\": null, {[\\\\\""},
                {"big", "123456789012345678901234567890"},
                {"off", "false"},
                {"none", "null"},
                {"ключ \"quoted\"", "{\"b\": 1.50, \"a\": -0.0}"}};
  job.inputs = {{"data", "/srv/data"}, {"params", "\"params\":null"}};
  job.outputs = {"model.npz"};
  job.data = {DataFingerprint{"data", "/srv/data", 2, 10, Sha256::of("x")}};
  return job;
}

// "Numbers in params stay as written in the source text."
TEST(Job, R5ParamsStayAsWritten) {
  const JobSpec job = rich_job();
  const std::string text = job_text(job);
  for (const auto& [key, source] : job.params) EXPECT_NE(text.find(source), std::string::npos) << source;
  EXPECT_NE(text.find("\"momentum\":1.0,"), std::string::npos) << text;
  const auto parsed = parse_job(text);
  ASSERT_TRUE(parsed) << error_of(parsed);
  EXPECT_EQ(parsed->params, job.params);
  EXPECT_EQ(parsed->inputs, job.inputs);
  EXPECT_EQ(job_text(*parsed), text);
  EXPECT_TRUE(json::parse(text)) << text;
}

TEST(Job, R5TextIsFixed) {
  EXPECT_EQ(job_text(small_job()),
            "{\"checkpoints\":{\"completion_file\":\"COMPLETE\",\"directory\":\"checkpoints\"},\"code_entry\":\"train."
            "py\",\"data\":[],\"entry\":\"\","
            "\"environment\":{\"any\":true,\"cuda\":null,\"driver\":null,\"os\":null,\"packages\":{},\"python\":null},"
            "\"inputs\":{},"
            "\"metrics_file\":\"metrics.jsonl\",\"outputs\":[],\"params\":{},\"schema\":1,\"task\":\"training\"}");
}

std::string with_params(const std::string& params) {
  JobSpec job = small_job();
  job.entry = "scripts/entrypoint.sh";
  std::string text = job_text(job);
  text.replace(text.find("\"params\":{}"), 11, "\"params\":" + params);
  return text;
}

TEST(Job, ParseTakesWhiteSpaceAndAbsentParams) {
  EXPECT_EQ(parse_job(with_params("{ \"a\" : 1.0 ,\n \"b\":[ 1 , 2 ] }"))->params,
            (std::map<std::string, std::string>{{"a", "1.0"}, {"b", "[ 1 , 2 ]"}}));
  EXPECT_TRUE(parse_job(with_params("null"))->params.empty());
  EXPECT_TRUE(parse_job(with_params("{}"))->params.empty());
  EXPECT_EQ(parse_job(with_params("{\"a\\u0062\": \"\\\"{\"}"))->params,
            (std::map<std::string, std::string>{{"ab", "\"\\\"{\""}}));
}

TEST(Job, X4ParseRefusesWhatTwoReadersCouldReadDifferently) {
  for (const std::string params : {"{\"a\":007}", "{\"a\":1.}", "{\"a\":NaN}", "{\"a\":'x'}", "{\"a\":1,}", "{\"a\"}",
                                   "[1]", "\"text\"", "3", "{\"a\":1", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}"})
    EXPECT_FALSE(parse_job(with_params(params))) << params;
  std::string twice = with_params("{\"a\":1}");
  twice.insert(1, "\"params\":{\"a\":2},");
  EXPECT_FALSE(parse_job(twice));
  std::string deep(100, '[');
  deep += std::string(100, ']');
  EXPECT_NE(error_of(parse_job(with_params("{\"a\":" + deep + "}"))).find("deep"), std::string::npos);
  EXPECT_FALSE(parse_job(std::string(1'000'000, '[')));
}

TEST(Job, X4ParseRefusesHostileValues) {
  const auto changed = [](auto change) {
    JobSpec job = small_job();
    job.entry = "scripts/entrypoint.sh";
    change(job);
    return error_of(parse_job(job_text(job)));
  };
  EXPECT_EQ(changed([](JobSpec&) {}), "no error");
  EXPECT_NE(changed([](JobSpec& job) { job.entry = "../outside.sh"; }).find("entry"), std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.code_entry = "/bin/sh"; }).find("code_entry"), std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.metrics_file = "../runtime/order.json"; }).find("metrics_file"),
            std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.outputs = {"ok", "a/../../b"}; }).find("outputs[1]"), std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.checkpoints.directory = ".."; }).find("checkpoints.directory"),
            std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.checkpoints.completion_file = "a\nb"; }).find("completion_file"),
            std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) {
              job.data = {DataFingerprint{"d", "relative", 1, 1, Sha256::of("")}};
            }).find("data[0]"),
            std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.data = {DataFingerprint{"d", "/d", 1, 1, {}}}; }).find("data[0].sha256"),
            std::string::npos);
  EXPECT_NE(changed([](JobSpec& job) { job.schema = 2; }).find("schema"), std::string::npos);
}

RC_GTEST_PROP(Job, R5AnyStringParamsComeBackVerbatim, (std::map<std::string, std::string> raw)) {
  JobSpec job = small_job();
  job.entry = "scripts/entrypoint.sh";
  for (const auto& [key, value] : raw)
    job.params[to_valid_utf8(key)] = "[" + json::dump(json::Value(to_valid_utf8(value))) + " , 1.0]";
  RC_ASSERT(parse_job(job_text(job)).value().params == job.params);
}

RC_GTEST_PROP(RawJson, NeverReadsPastItsText, (std::string text)) {
  (void)raw_members(text);
  (void)raw_members("{\"a\":" + text);
}

class Assemble : public TempTest {
 protected:
  const std::vector<FileEntry> files_{entry_of("inputs/code/data.txt", "d"),
                                      entry_of("inputs/code/train.py", "t", true)};
};

TEST_F(Assemble, R5SameInputsSameDigestWhateverTheirOrder) {
  const auto one = assemble(rich_job(), {"./train.py", "--lr=1e-4"}, "--resume", files_);
  const auto two = assemble(rich_job(), {"./train.py", "--lr=1e-4"}, "--resume", {files_[1], files_[0]});
  ASSERT_TRUE(one) << error_of(one);
  EXPECT_EQ(one->digest, two->digest);
  EXPECT_EQ(one->digest, Sha256::of(manifest_text(one->manifest)));
  EXPECT_TRUE(parse_manifest(manifest_text(one->manifest)));
  ASSERT_EQ(one->generated.size(), 3U);
  for (const auto& [path, text] : one->generated) {
    const auto it = std::find_if(one->manifest.files.begin(), one->manifest.files.end(),
                                 [&, &wanted = path](const FileEntry& file) { return file.path == wanted; });
    ASSERT_NE(it, one->manifest.files.end()) << path;
    EXPECT_EQ(it->sha256, Sha256::of(text));
    EXPECT_EQ(it->executable, path == "scripts/entrypoint.sh");
  }
  EXPECT_EQ(parse_job(one->generated.at("job.json"))->entry, "scripts/entrypoint.sh");
  EXPECT_NE(assemble(rich_job(), {"./train.py"}, "--resume", files_)->digest, one->digest);
}

TEST_F(Assemble, R5TheListOfChecksIsFrozen) {
  JobSpec job = small_job();
  job.code_entry = "train.py";
  job.data = {DataFingerprint{"dataset", "/data", 1, 1, Sha256::of("d")}};
  job.environment.any = false;
  job.environment.driver = ">=525";
  job.environment.packages = {{"torch", "2.1"}};
  const auto bundle = assemble(job, {"./train.py"}, "", files_);
  ASSERT_TRUE(bundle) << error_of(bundle);
  const auto list = parse_prechecks(bundle->generated.at(prechecks_path));
  ASSERT_TRUE(list) << error_of(list);
  EXPECT_EQ(list->checks, (std::vector<std::string>{"bundle digest", "entry", "code entry", "data dataset", "free disk",
                                                    "driver", "python", "package torch"}));
  EXPECT_FALSE(parse_prechecks(R"({"schema": 2, "checks": []})"));
  EXPECT_FALSE(parse_prechecks("[]"));
}

TEST_F(Assemble, MissingEntryAndMissingRunBitAreNamed) {
  JobSpec job = small_job();
  job.code_entry = "trian.py";
  const auto missing = assemble(job, {"./trian.py"}, "", files_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().field, "entry");
  EXPECT_NE(missing.error().text().find("train.py"), std::string::npos) << error_of(missing);
  job.code_entry = "data.txt";
  const auto no_bit = assemble(job, {"./data.txt"}, "", files_);
  ASSERT_FALSE(no_bit);
  EXPECT_EQ(no_bit.error().field, "entry");
  EXPECT_NE(no_bit.error().text().find("not executable"), std::string::npos);
  EXPECT_NE(no_bit.error().hint.find("chmod +x"), std::string::npos);
  job.code_entry = "../train.py";
  EXPECT_FALSE(assemble(job, {"./train.py"}, "", files_));
}

TEST_F(Assemble, BadArgumentsAreErrors) {
  const JobSpec job = small_job();
  EXPECT_FALSE(assemble(job, {}, "", files_));
  EXPECT_FALSE(assemble(job, {""}, "", files_));
  EXPECT_FALSE(assemble(job, {"-c"}, "", files_));
  EXPECT_FALSE(assemble(job, {"./train.py", std::string("a\0b", 3)}, "", files_));
  EXPECT_FALSE(assemble(job, {"../../bin/sh"}, "", files_));
  EXPECT_FALSE(assemble(job, {"./train.py"}, "", {entry_of("runtime/order.json", "x"), files_[1]}));
  EXPECT_FALSE(assemble(job, {"./train.py"}, "", {files_[1], files_[1]}));
  for (const std::string source : {"007", "", "adam", "1 ", "{\"a\":1,}", "\"\xff\"", "1\n"}) {
    JobSpec bad = job;
    bad.params["lr"] = source;
    const auto refused = assemble(bad, {"./train.py"}, "", files_);
    ASSERT_FALSE(refused) << source;
    EXPECT_EQ(refused.error().field, "params.lr");
  }
  JobSpec outputs = job;
  outputs.outputs = {"../x"};
  EXPECT_EQ(assemble(outputs, {"./train.py"}, "", files_).error().field, "outputs[0]");
}

// Runs the generated script with a real shell; the entry prints its arguments, one a line.
class Entrypoint : public TempTest {
 protected:
  std::string run(const std::vector<std::string>& words, const std::string& resume_argument,
                  const std::map<std::string, std::string>& environment) {
    put("b/inputs/code/print", "#!/bin/sh\npwd > \"$ORBIT_ARTIFACTS/pwd\"\nprintf '%s\\0' \"$@\"\nexit 7\n", 0755);
    fs::create_directories(at("art ifacts"));
    std::vector<std::string> argv{"./print"};
    argv.insert(argv.end(), words.begin(), words.end());
    JobSpec job = small_job();
    job.code_entry = "print";
    const auto bundle = assemble(job, argv, resume_argument, {entry_of("inputs/code/print", "p", true)});
    EXPECT_TRUE(bundle) << error_of(bundle);
    if (!bundle) return {};
    put("b/scripts/entrypoint.sh", bundle->generated.at("scripts/entrypoint.sh"), 0755);
    std::string command = "env -i PATH=/usr/bin:/bin ORBIT_BUNDLE=" + shell_quote(at("b").string()) +
                          " ORBIT_ARTIFACTS=" + shell_quote(at("art ifacts").string());
    for (const auto& [name, value] : environment) command += " " + name + "=" + shell_quote(value);
    command += " " + shell_quote(at("b/scripts/entrypoint.sh").string()) + " > " + shell_quote(at("out").string());
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    return get(at("out"));
  }
  static std::string lines(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += word + '\0';
    return out;
  }
};

TEST_F(Entrypoint, EveryWordArrivesAsItWasWritten) {
  const std::vector<std::string> words{"--lr=1.0",
                                       "two words",
                                       "it's",
                                       "\"$HOME\"",
                                       "$(touch /tmp/x)",
                                       "`id`",
                                       "a\nb",
                                       "*",
                                       "\\",
                                       "",
                                       "--",
                                       "~",
                                       "日本",
                                       "x$ORBIT_ARTIFACTS/y",
                                       "$ORBIT_ARTIFACTSX",
                                       "a=$ORBIT_ARTIFACTS/y",
                                       "${ORBIT_BUNDLE}"};
  EXPECT_EQ(run(words, "", {}), lines(words));
  EXPECT_EQ(get(at("art ifacts/pwd")), fs::canonical(at("b/inputs/code")).string() + "\n");
}

TEST_F(Entrypoint, OutputsPointIntoTheArtifacts) {
  const std::string artifacts = at("art ifacts").string();
  EXPECT_EQ(run({"$ORBIT_ARTIFACTS/model file.npz", "--out=$ORBIT_ARTIFACTS/it's", "$ORBIT_ARTIFACTS",
                 "$ORBIT_ARTIFACTS/$HOME"},
                "", {}),
            lines({artifacts + "/model file.npz", "--out=" + artifacts + "/it's", artifacts, artifacts + "/$HOME"}));
}

// R8
TEST_F(Entrypoint, R8ResumeArgumentOnlyWhenThereIsACheckpoint) {
  EXPECT_EQ(run({"a"}, "--resume", {}), lines({"a"}));
  EXPECT_EQ(run({"a"}, "--resume", {{"ORBIT_RESUME_FROM", ""}}), lines({"a"}));
  EXPECT_EQ(run({"a"}, "--resume", {{"ORBIT_RESUME_FROM", "/x y/'ckpt*"}}), lines({"a", "--resume", "/x y/'ckpt*"}));
  EXPECT_EQ(run({"a"}, "", {{"ORBIT_RESUME_FROM", "/x"}}), lines({"a"}));
}

RC_GTEST_PROP(EntrypointWords, AnyWordsMakeAScript, (std::vector<std::string> words)) {
  std::vector<std::string> argv{"/bin/true"};
  for (std::string word : words) {
    word.erase(std::remove(word.begin(), word.end(), '\0'), word.end());
    argv.push_back(word);
  }
  JobSpec job = small_job();
  job.code_entry.clear();
  RC_ASSERT(assemble(job, argv, "--resume", {}).has_value());
}

}  // namespace
}  // namespace orbit::bundle
