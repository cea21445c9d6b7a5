// bundle build|check|run: bundles by hand, without a server (R17).
#include <ostream>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"
#include "orbit/cli/bundle_build.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/hand_run.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

struct BuildArgs {
  BuildOptions options;
  std::optional<std::string> folder;
};

Result<fs::path> current_directory() {
  std::error_code failure;
  fs::path current = fs::current_path(failure);
  if (failure) return fail(ErrorCode::io, failure.message(), "current directory");
  return current;
}

Result<int> bundle_build(Context& context, const BuildArgs& args) {
  BuildOptions options = args.options;
  if (options.out.empty())
    return fail(ErrorCode::invalid_argument, "is missing", "--out", "name the directory to make");
  if (args.folder && options.submission.file)
    return fail(ErrorCode::invalid_argument, "give a folder or -f, not both", "--file");
  if (args.folder) options.submission.file = (fs::path(*args.folder) / "run.yaml").string();
  ORBIT_TRY_ASSIGN(const fs::path current, current_directory());
  ORBIT_TRY_ASSIGN(const BuiltBundle built, build_bundle(options, context.rest, current));
  if (context.json())
    context.print_json(json::dump(json::Object{{"digest", built.digest.hex()},
                                               {"directory", built.directory.string()},
                                               {"files", built.files},
                                               {"size_bytes", built.size_bytes}}));
  else
    context.out << fmt::format("{}\n", built.digest.hex());
  if (!context.json())
    context.note(fmt::format("{}, {} in {}", counted(built.files, "file"), human_bytes(built.size_bytes),
                             built.directory.string()));
  return 0;
}

Result<int> bundle_check(Context& context, const std::string& folder, const std::optional<std::string>& expected) {
  ORBIT_TRY_ASSIGN(Digest digest, digest_of_bundle(folder));
  std::vector<bundle::Finding> findings;
  if (expected) {
    auto wanted = Digest::parse(*expected);
    if (!wanted) {
      wanted.error().field = "--digest";
      return fail(std::move(wanted).error());
    }
    if (*wanted != digest)
      findings.push_back({"bundle.json", fmt::format("changed: digest {}, expected {}", digest.hex(), wanted->hex())});
  }
  ORBIT_TRY_ASSIGN(auto more, bundle::verify(folder, digest));
  findings.insert(findings.end(), more.begin(), more.end());
  if (context.json()) {
    json::Array items;
    for (const bundle::Finding& finding : findings)
      items.push_back(json::Object{{"path", to_valid_utf8(finding.path)}, {"problem", to_valid_utf8(finding.problem)}});
    context.print_json(
        json::dump(json::Object{{"ok", findings.empty()}, {"digest", digest.hex()}, {"findings", std::move(items)}}));
  } else {
    for (const bundle::Finding& finding : findings)
      context.out << fmt::format("{}: {}\n", escape(finding.path), escape(finding.problem));
    if (findings.empty()) context.out << fmt::format("ok: {}\n", digest.hex());
  }
  return findings.empty() ? 0 : 1;
}

Result<int> bundle_run(Context& context, const std::string& folder, bool again) {
  ORBIT_TRY_ASSIGN(const fs::path current, current_directory());
  fs::path directory = (current / folder).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  if (again) {
    ORBIT_TRY_ASSIGN(directory, copy_for_another_run(directory));
    context.note("running a fresh copy: " + directory.string());
  }
  ORBIT_TRY_ASSIGN(const Digest digest, digest_of_bundle(directory));
  ORBIT_TRY_ASSIGN(const auto findings, bundle::verify(directory, digest));
  if (!findings.empty())
    return fail(ErrorCode::corrupt, findings.front().problem, findings.front().path,
                "orbit bundle check lists all that does not hold");
  ORBIT_TRY(write_hand_order(directory, context.now()));
  return hand_run(context, directory);
}

}  // namespace

void add_bundle_commands(Command& root) {
  Command& group = root.add("bundle", "Bundles by hand, without a server").local();

  auto build = std::make_shared<BuildArgs>();
  SubmitOptions& submission = build->options.submission;
  group.add("build", "Freeze a run into a directory and print its digest")
      .positional("dir", &build->folder, "folder with a run.yaml", false)
      .option("-f,--file", "RUN.YAML", &submission.file, "run file")
      .option("--out", "BUNDLE", &build->options.out, "directory to make")
      .option("--template", "FILE", &build->options.template_file,
              "template file; the shipped one the run file names unless given")
      .option("--task-types", "DIR", &build->options.task_types, "folder with task types of your own")
      .option("-p,--project", "NAME", &submission.project, "project")
      .option("--task", "TYPE", &submission.task, "task type")
      .option("--param", "KEY=VALUE", &submission.params, "parameter of the task")
      .option("--set", "KEY=VALUE", &submission.overrides, "override of a template value")
      .option("--input", "NAME=VALUE", &submission.inputs, "input of the task")
      .option("--gpus", "N", &submission.gpus, "GPUs")
      .option("--gpu-mem", "SIZE", &submission.gpu_memory, "memory per GPU")
      .option("--cpus", "N", &submission.cpus, "CPU cores")
      .option("--memory", "SIZE", &submission.memory, "main memory")
      .option("--disk", "SIZE", &submission.disk, "free disk space demanded before the start")
      .option("--time-limit", "DURATION", &submission.time_limit, "end the run after this")
      .option("--env", "any|FILE", &submission.environment, "environment profile the run needs")
      .option("--entry", "FILE", &submission.entry, "program of the code to start, below the source")
      .option("--source", "DIR|URL", &submission.source, "folder or git repository with the code")
      .option("--revision", "COMMIT", &submission.revision, "commit, tag or branch of the source")
      .option("--resume-argument", "FLAG", &submission.resume_argument,
              "flag by which the entry is told its checkpoint")
      .flag("--allow-dirty", submission.allow_dirty, "freeze uncommitted changes, and the patch")
      .takes_rest("COMMAND…", "command line of a task of type command")
      .examples(
          "orbit bundle build examples/digits --out /tmp/digits\norbit bundle check /tmp/digits\norbit bundle run "
          "/tmp/digits")
      .run([build](Context& context) { return bundle_build(context, *build); });

  struct CheckArgs {
    std::string folder;
    std::optional<std::string> digest;
  };
  auto check = std::make_shared<CheckArgs>();
  group.add("check", "Recompute every digest of a bundle; exits with 1 when something does not hold")
      .positional("dir", &check->folder, "the bundle")
      .option("--digest", "SHA256", &check->digest, "the digest it must have")
      .run([check](Context& context) { return bundle_check(context, check->folder, check->digest); });

  struct RunByHandArgs {
    std::string folder;
    bool again = false;
  };
  auto run = std::make_shared<RunByHandArgs>();
  group.add("run", "Run a bundle here and now, and show its result; once, as artifacts of two runs must not mix")
      .positional("dir", &run->folder, "the bundle")
      .flag("--again", run->again, "run a fresh copy made beside it")
      .run([run](Context& context) { return bundle_run(context, run->folder, run->again); });
}

}  // namespace orbit::cli
