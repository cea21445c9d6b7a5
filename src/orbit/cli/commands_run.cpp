// run ls|show|stop|rerun|resume|attempts and queue.
#include <limits>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/follow.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

struct ListArgs {
  std::optional<std::string> project, experiment, state, tag;
  PageOptions page;
};

Result<int> run_ls(Context& context, const ListArgs& args) {
  std::vector<wire::RunObject> runs;
  const auto target = [&](const PageOptions& page) {
    return api_path({"runs"}) +
           query({{"project", args.project},
                  {"experiment", args.experiment},
                  {"state", args.state},
                  {"tag", args.tag},
                  {"limit", page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt},
                  {"cursor", page.cursor}});
  };
  return show_list(context, target, args.page, into(runs), [&] {
    if (runs.empty() && (args.project || args.experiment || args.state || args.tag || args.page.cursor))
      context.note("no run matches");
    else if (runs.empty())
      context.note("no runs yet: orbit submit -f run.yaml makes one");
    else
      context.out << run_table(runs, context.now(), context.terminal);
  });
}

Result<int> run_show(Context& context, const RunArgs& args, bool attempts_only) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  if (attempts_only && context.json()) {
    ORBIT_TRY_ASSIGN(const auto run, api->get_as<json::Value>(ref.target()));
    const json::Value* attempts = run.is_object() ? run.get_object().if_contains("attempts") : nullptr;
    json::Object list{{"items", attempts == nullptr ? json::Value(json::Array{}) : *attempts},
                      {"next_cursor", nullptr}};
    context.print_json(json::dump(list));
    return 0;
  }
  return show_one<wire::RunObject>(context, api->get(ref.target()), [&](const wire::RunObject& run) {
    if (attempts_only) {
      context.out << attempt_table(run.attempts, context.terminal);
      return;
    }
    const auto spec = api->get_as<wire::RunSpecObject>(RunRef{run.id, std::nullopt}.target({"spec"}));
    context.out << run_details(run, spec ? &*spec : nullptr, context.terminal);
    if (!spec) context.err << error_text(spec.error(), context.terminal.colour_err);
  });
}

std::string name_of(const wire::RunObject& run) {
  return fmt::format("{} ({})", escape(run.name), run.id);
}

Result<int> run_stop(Context& context, const RunArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<wire::RunObject>(
      context, api->send(net::Method::post, ref.target({"stop"}), {}), [&](const wire::RunObject& run) {
        context.out << (is_final(run.state) ? fmt::format("run {} is {}\n", name_of(run), json::name_of(run.state))
                                            : fmt::format("run {} is asked to stop\n", name_of(run)));
      });
}

// rerun and resume: a further attempt, watched if wanted.
Result<int> further_attempt(Context& context, const RunArgs& args, const std::string& action, const std::string& body,
                            bool follow) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  ORBIT_TRY_ASSIGN(const std::string answer, api->send(net::Method::post, ref.target({action}), body));
  ORBIT_TRY_ASSIGN(const auto run, Api::decode<wire::RunObject>(answer));
  if (run.attempts.empty()) return fail(ErrorCode::internal, "the server's answer holds no attempt");
  const wire::AttemptObject& attempt = run.attempts.back();
  std::string line = fmt::format("run {}: attempt {} submitted", name_of(run), attempt.number);
  if (attempt.resume) line += " from " + escape(attempt.resume->checkpoint);
  if (follow) {
    context.note(line);
    return follow_attempt(context, run.id, attempt.number);
  }
  if (context.json())
    context.print_json(answer);
  else
    context.out << line << "\n";
  return 0;
}

Result<int> queue_ls(Context& context, const PageOptions& args) {
  std::vector<wire::QueueItem> items;
  const auto target = [&](const PageOptions& page) {
    return api_path({"queue"}) +
           query({{"limit", page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt},
                  {"cursor", page.cursor}});
  };
  return show_list(context, target, args, into(items), [&] {
    if (items.empty()) {
      context.note("nothing waits");
      return;
    }
    Table table({{"POS", true},
                 {"NAME", false, true},
                 {"PROJECT", false, true},
                 {"TRY", true},
                 {"SINCE"},
                 {"WAITS FOR", false, true}});
    for (const auto& item : items)
      table.add({{std::to_string(item.position)},
                 {item.name},
                 {item.project},
                 {std::to_string(item.attempt)},
                 {ago(item.since, context.now())},
                 {item.waits_for}});
    table.print(context.out, context.terminal);
  });
}

}  // namespace

void take_run(Command& command, RunArgs& args) {
  command.positional("run", &args.run, "id or name of the run, or project/name");
  command.option("-p,--project", "NAME", &args.project, "project of the run, where its name alone is not unique");
}
void take_attempt(Command& command, RunArgs& args) {
  command.option("--attempt", "N", &args.attempt, "which attempt, counted from 1; the latest unless given");
}

void add_run_commands(Command& root) {
  Command& run = root.add("run", "Look at runs and act on them");

  auto list = std::make_shared<ListArgs>();
  Command& ls = run.add("ls", "List runs, newest first");
  ls.option("-p,--project", "NAME", &list->project, "only runs of this project")
      .option("--experiment", "NAME", &list->experiment, "only runs of this experiment")
      .option("--state", "STATE", &list->state, "only runs whose latest attempt is in this state",
              json::names_of<AttemptState>())
      .option("--tag", "TAG", &list->tag, "only runs with this tag")
      .option("--limit", "N", &list->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &list->page.cursor, "go on after a page (next_cursor of -o json)")
      .examples("orbit run ls --project digits --state failed\norbit run ls -o json | jq -r '.items[].id'")
      .run([list](Context& context) { return run_ls(context, *list); });

  auto show = std::make_shared<RunArgs>();
  Command& show_command = run.add("show", "Show a run: what was frozen, and its attempts");
  take_run(show_command, *show);
  show_command.examples("orbit run show digits/first-try\norbit run show 01jdz… -o json").run([show](Context& context) {
    return run_show(context, *show, false);
  });

  auto attempts = std::make_shared<RunArgs>();
  Command& attempts_command = run.add("attempts", "List the attempts of a run");
  take_run(attempts_command, *attempts);
  attempts_command.run([attempts](Context& context) { return run_show(context, *attempts, true); });

  auto stop = std::make_shared<RunArgs>();
  Command& stop_command = run.add("stop", "Ask the living attempt of a run to end: SIGTERM, a grace, then SIGKILL");
  take_run(stop_command, *stop);
  stop_command.run([stop](Context& context) { return run_stop(context, *stop); });

  struct FurtherArgs : RunArgs {
    wire::ResumeRequest request;
    std::optional<std::int64_t> from_attempt;
    bool follow = false;
  };
  auto rerun = std::make_shared<FurtherArgs>();
  Command& rerun_command = run.add("rerun", "Throw a run's bundle again: a further attempt with the same digest");
  take_run(rerun_command, *rerun);
  rerun_command.option("--target", "NAME", &rerun->request.target, "where to run it instead")
      .flag("--follow", rerun->follow, "watch the new attempt to its end")
      .examples("orbit run rerun digits/first-try --follow")
      .run([rerun](Context& context) {
        wire::RerunRequest request;
        request.target = rerun->request.target;
        return further_attempt(context, *rerun, "rerun", json::encode(request), rerun->follow);
      });

  auto resume = std::make_shared<FurtherArgs>();
  Command& resume_command = run.add("resume", "Start a further attempt from a checkpoint");
  take_run(resume_command, *resume);
  resume_command
      .option("--checkpoint", "PATH", &resume->request.checkpoint,
              "path below artifacts/, or its last part; the latest unless given")
      .option("--attempt", "N", &resume->from_attempt, "whose checkpoint; the latest attempt that has one unless given")
      .option("--target", "NAME", &resume->request.target, "where to run it instead")
      .flag("--follow", resume->follow, "watch the new attempt to its end")
      .examples("orbit run resume digits/first-try\norbit run resume digits/first-try --checkpoint epoch-0004 --follow")
      .run([resume](Context& context) -> Result<int> {
        if (resume->from_attempt) {
          ORBIT_TRY(attempt_segment(resume->from_attempt));
          if (*resume->from_attempt > std::numeric_limits<std::int32_t>::max())
            return fail(ErrorCode::invalid_argument, "is too large", "--attempt");
          resume->request.attempt = static_cast<std::int32_t>(*resume->from_attempt);
        }
        return further_attempt(context, *resume, "resume", json::encode(resume->request), resume->follow);
      });

  add_run_output_commands(run);
  add_run_report_commands(run);
}

void add_queue_command(Command& root) {
  auto page = std::make_shared<PageOptions>();
  root.add("queue", "Show what waits for a place, and for what")
      .option("--limit", "N", &page->limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &page->cursor, "go on after a page (next_cursor of -o json)")
      .run([page](Context& context) { return queue_ls(context, *page); });
}

}  // namespace orbit::cli
