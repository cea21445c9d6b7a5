// run logs and run artifacts ls|get: what a run wrote.
#include <fcntl.h>
#include <sys/stat.h>

#include <mutex>
#include <ostream>
#include <thread>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/download.hpp"
#include "orbit/cli/follow.hpp"
#include "orbit/cli/logs.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"
#include "orbit/wire/base64.hpp"

namespace orbit::cli {
namespace {

struct LogArgs : RunArgs {
  std::optional<std::string> stream;
  bool follow = false;
  std::optional<std::int64_t> offset, tail_bytes, lines;
};

Result<int> run_logs(Context& context, const LogArgs& args) {
  if ((args.offset ? 1 : 0) + (args.tail_bytes ? 1 : 0) + (args.lines ? 1 : 0) > 1)
    return fail(ErrorCode::invalid_argument, "only one of --offset, --tail-bytes and --lines", "--offset");
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(std::string attempt, attempt_segment(args.attempt));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  // A name may come to mean another run, and "latest" another attempt, while we follow: settle both now.
  ORBIT_TRY_ASSIGN(const auto run, api->get_as<wire::RunObject>(ref.target()));
  if (attempt == "latest" && !run.attempts.empty()) attempt = std::to_string(run.attempts.back().number);
  const RunRef settled{run.id, std::nullopt};

  const bool both = !args.stream && !args.offset;
  struct Part {
    std::string stream;
    std::ostream& to;
    std::string target;
    std::int64_t offset = 0;
    Result<void> result;
  };
  std::vector<Part> parts;
  const auto add = [&](const std::string& stream, std::ostream& to) {
    parts.push_back({stream, to, settled.target({"attempts", attempt, "logs", stream}), 0, {}});
  };
  add(args.stream.value_or("stdout"), context.out);
  if (both) add("stderr", context.err);
  for (Part& part : parts) {
    if (args.offset) part.offset = *args.offset;
    if (!args.tail_bytes && !args.lines) continue;
    ORBIT_TRY_ASSIGN(const std::int64_t size_bytes, log_size(*api, part.target));
    if (args.tail_bytes) part.offset = std::max<std::int64_t>(0, size_bytes - *args.tail_bytes);
    if (args.lines) {
      ORBIT_TRY_ASSIGN(part.offset, offset_of_last_lines(*api, part.target, size_bytes, *args.lines));
    }
  }

  std::mutex writing;
  const auto read = [&](Part& part) {
    std::int64_t at = part.offset;
    const LogSink sink{[&](std::string_view bytes) {
                         const std::lock_guard lock(writing);
                         if (context.json())
                           part.to << json::encode(wire::LogChunk{at, wire::base64_encode(bytes)}) << '\n';
                         else
                           part.to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                         at += static_cast<std::int64_t>(bytes.size());
                         if (args.follow) part.to.flush();
                         return part.to.good();
                       },
                       [&](const std::string& notice) {
                         const std::lock_guard lock(writing);
                         context.note(notice);
                       }};
    LogReader reader(api->connection(), part.target, part.offset, sink);
    if (args.follow) {
      part.result = reader.follow();
    } else if (auto ended = reader.read(); !ended) {
      part.result = fail(std::move(ended).error());
    }
    const std::lock_guard lock(writing);
    part.to.flush();
  };
  if (args.follow) {
    const DetachOnInterrupt guard("\n");
    std::vector<std::thread> threads;
    for (Part& part : parts) threads.emplace_back([&] { read(part); });
    for (std::thread& thread : threads) thread.join();
  } else {
    for (Part& part : parts) read(part);
  }
  for (Part& part : parts)
    if (!part.result) return fail(std::move(part.result).error());
  return 0;
}

struct ArtifactArgs : RunArgs {
  PageOptions page;
  std::vector<std::string> paths;
  std::optional<std::string> to;
};

Result<int> artifacts_ls(Context& context, const ArtifactArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const std::string attempt, attempt_segment(args.attempt));
  std::vector<Artifact> artifacts;
  const auto target = [&](const PageOptions& page) {
    return ref.target(
        {"attempts", attempt, "artifacts"},
        {{"limit", page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt}, {"cursor", page.cursor}});
  };
  return show_list(context, target, args.page, into(artifacts), [&] {
    if (artifacts.empty()) {
      context.note("no artifacts");
      return;
    }
    Table table({{"PATH", false, true}, {"SIZE", true}, {"MODE"}, {"SHA-256"}});
    for (const Artifact& artifact : artifacts)
      table.add({{artifact.target ? artifact.path + " -> " + *artifact.target : artifact.path},
                 {artifact.kind == ArtifactKind::file ? human_bytes(artifact.size_bytes) : "link"},
                 {fmt::format("{:04o}", artifact.mode)},
                 {artifact.sha256.empty() ? std::string() : artifact.sha256.hex().substr(0, 12)}});
    table.print(context.out, context.terminal);
  });
}

Result<int> artifacts_get(Context& context, const ArtifactArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(std::string attempt, attempt_segment(args.attempt));
  if (args.to && *args.to == "-" && context.json())
    return fail(ErrorCode::invalid_argument, "the file itself goes to standard output, not JSON", "--output",
                "leave -o out, or name a folder with --to");
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  if (args.to && *args.to == "-" && args.paths.size() != 1)
    return fail(ErrorCode::invalid_argument, "only one file can be written to standard output", "--to");
  ORBIT_TRY_ASSIGN(const auto run, api->get_as<wire::RunObject>(ref.target()));
  if (attempt == "latest" && !run.attempts.empty()) attempt = std::to_string(run.attempts.back().number);
  const RunRef settled{run.id, std::nullopt};
  return download_artifacts(context, *api, settled, attempt, args.paths, args.to.value_or("."));
}

}  // namespace

void add_run_output_commands(Command& run) {
  auto logs = std::make_shared<LogArgs>();
  Command& logs_command = run.add(
      "logs", "Write what a run printed, byte by byte; with -o json as objects {offset, bytes_base64}, one a line");
  take_run(logs_command, *logs);
  take_attempt(logs_command, *logs);
  logs_command
      .option("--stream", "STREAM", &logs->stream,
              "one stream, to stdout; unless given, stdout goes to stdout and stderr to stderr",
              {"stdout", "stderr", "execution"})
      .flag("-f,--follow", logs->follow, "until the end of the log; survives cut connections and server restarts")
      .option("--offset", "BYTES", &logs->offset, "start at this byte (of stdout unless --stream is given)")
      .option("--tail-bytes", "BYTES", &logs->tail_bytes, "only the last bytes")
      .option("-n,--lines", "N", &logs->lines, "only the last lines")
      .examples(
          "orbit run logs digits/first-try --follow\norbit run logs digits/first-try --stream execution\n"
          "orbit run logs digits/first-try --attempt 1 -n 20")
      .run([logs](Context& context) { return run_logs(context, *logs); });

  Command& artifacts = run.add("artifacts", "List and fetch what a run made, also while it lives");
  auto list = std::make_shared<ArtifactArgs>();
  Command& ls = artifacts.add("ls", "List the artifacts of an attempt");
  take_run(ls, *list);
  take_attempt(ls, *list);
  ls.option("--limit", "N", &list->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &list->page.cursor, "go on after a page (next_cursor of -o json)")
      .run([list](Context& context) { return artifacts_ls(context, *list); });
  auto get = std::make_shared<ArtifactArgs>();
  Command& get_command = artifacts.add("get", "Fetch artifacts; each is checked against its SHA-256");
  take_run(get_command, *get);
  get_command.positional("path", &get->paths, "paths below artifacts/; a folder means all below it; all unless given",
                         false);
  take_attempt(get_command, *get);
  get_command.option("--to", "DIR", &get->to, "folder to put them into, or - for standard output; . unless given")
      .examples(
          "orbit run artifacts get digits/first-try model.npz --to out\n"
          "orbit run artifacts get digits/first-try metrics.jsonl --to - | tail -1")
      .run([get](Context& context) { return artifacts_get(context, *get); });
}

}  // namespace orbit::cli
