// run why|diff|verify|metrics|spec|events: what is known about a run.
#include <map>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/event_follow.hpp"
#include "orbit/cli/event_view.hpp"
#include "orbit/cli/frozen_view.hpp"
#include "orbit/cli/report_view.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

std::optional<std::string> number_text(const std::optional<std::int64_t>& number) {
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

Result<int> run_why(Context& context, const RunArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<wire::WhyObject>(context, api->get(ref.target({"why"})), [&](const wire::WhyObject& why) {
    const bool colour = context.terminal.colour_out;
    const std::string state(json::name_of(why.state));
    std::string summary = why.summary;
    // The state once, however often the sentence begins with it ("succeeded: succeeded: the workload …").
    while (summary.starts_with(state)) {
      const std::size_t next = summary.find_first_not_of(":; ", state.size());
      if (next == state.size()) break;  // a longer word
      summary.erase(0, next);
    }
    context.out << paint(state, colour_of(why.state), colour) << (summary.empty() ? "" : ": ") << escape(summary)
                << "\n";
    for (const std::string& line : why.evidence) context.out << "  - " << escape(line) << "\n";
  });
}

Result<int> run_diff(Context& context, const RunArgs& left, const std::string& right, bool all) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(left.run, left.project));
  ORBIT_TRY_ASSIGN(const RunRef other, parse_run_ref(right, left.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  const auto body = api->get(ref.target({"diff"}, {{"with", other.run}, {"with_project", other.project}}));
  return show_one<wire::DiffReport>(context, body, [&](const wire::DiffReport& report) {
    if (report.items.empty()) {
      context.out << "no difference\n";
      return;
    }
    Table table({{"PART"}, {"KEY", false, true}, {"LEFT", false, true}, {"RIGHT", false, true}});
    for (const wire::DiffItem& item : all ? report.items : summarised(report.items))
      table.add({{item.part, Colour::dim},
                 {item.key},
                 {item.left.value_or("-"), Colour::red},
                 {item.right.value_or("-"), Colour::green}});
    table.print(context.out, context.terminal);
  });
}

Result<int> run_verify(Context& context, const RunArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  ORBIT_TRY_ASSIGN(const std::string body, api->send(net::Method::post, ref.target({"verify"}), {}));
  ORBIT_TRY_ASSIGN(const auto report, Api::decode<wire::VerifyReport>(body));
  if (context.json()) {
    context.print_json(body);
    return report.ok ? 0 : 1;
  }
  const std::string looked_at = fmt::format("{}, {}, {}", counted(report.bundle_files, "bundle file"),
                                            counted(report.artifacts, "artifact"), human_bytes(report.bytes));
  const bool colour = context.terminal.colour_out;
  context.out << (report.ok ? paint("ok", Colour::green, colour) : paint("does not hold", Colour::red, colour)) << ": "
              << looked_at << "\n";
  for (const wire::VerifyFinding& finding : report.findings)
    context.out << fmt::format("  {} {}: {}\n", escape(finding.part), escape(finding.subject), escape(finding.problem));
  return report.ok ? 0 : 1;
}

struct MetricsArgs : RunArgs {
  std::optional<std::string> name;
  PageOptions page;
};

Result<int> run_metrics(Context& context, const MetricsArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const std::string attempt, attempt_segment(args.attempt));
  std::vector<wire::MetricObject> points;
  // People see a table of all metrics by step: a page cut off in the middle of one would mislead.
  PageOptions page = args.page;
  if (!context.json() && !page.limit) page.limit = 1000;
  const auto target = [&](const PageOptions& options) {
    return ref.target({"attempts", attempt, "metrics"},
                      {{"name", args.name}, {"limit", number_text(options.limit)}, {"cursor", options.cursor}});
  };
  return show_list(context, target, page, into(points), [&] {
    if (points.empty()) {
      context.note("no metrics");
      return;
    }
    metric_table(points).print(context.out, context.terminal);
  });
}

Result<int> run_checkpoints(Context& context, const MetricsArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const std::string attempt, attempt_segment(args.attempt));
  std::vector<CheckpointRecord> checkpoints;
  const auto target = [&](const PageOptions& page) {
    return ref.target({"attempts", attempt, "checkpoints"},
                      {{"limit", number_text(page.limit)}, {"cursor", page.cursor}});
  };
  return show_list(context, target, args.page, into(checkpoints), [&] {
    if (checkpoints.empty()) {
      context.note("no complete checkpoints");
      return;
    }
    Table table({{"PATH", false, true}, {"STEP", true}, {"FILES", true}, {"SIZE", true}, {"WHEN"}, {"SHA-256"}});
    for (const CheckpointRecord& checkpoint : checkpoints)
      table.add({{checkpoint.path},
                 {checkpoint.step ? std::to_string(*checkpoint.step) : std::string()},
                 {std::to_string(checkpoint.files)},
                 {human_bytes(checkpoint.size_bytes)},
                 {ago(checkpoint.at, context.now())},
                 {checkpoint.sha256.hex().substr(0, 12)}});
    table.print(context.out, context.terminal);
  });
}

Result<int> run_spec(Context& context, const RunArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  const auto body = api->get(ref.target({"spec"}));
  CodeRevision code;
  if (body && !context.json()) {
    ORBIT_TRY_ASSIGN(const auto run, api->get_as<wire::RunObject>(ref.target()));
    code = run.code;
  }
  return show_one<wire::RunSpecObject>(context, body, [&](const wire::RunSpecObject& spec) {
    Fields fields;
    add_frozen(fields, spec, code);
    context.out << fields.text(context.terminal.colour_out) << "\n";
    Table files({{"FILE", false, true}, {"MODE"}, {"SIZE", true}, {"SHA-256"}});
    for (const FileEntry& file : spec.bundle.files)
      files.add({{file.path},
                 {file.executable ? "0755" : "0644"},
                 {human_bytes(file.size_bytes)},
                 {file.sha256.hex().substr(0, 12)}});
    files.print(context.out, context.terminal);
  });
}

struct EventArgs : RunArgs {
  bool follow = false;
  PageOptions page;
};

Result<int> run_events(Context& context, const EventArgs& args) {
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(args.run, args.project));
  if (args.follow) return print_events(context, ref.target({"events"}), {});
  std::vector<wire::EventObject> events;
  std::map<std::string, std::int32_t> numbers;  // of the attempts
  if (!context.json()) {
    ORBIT_TRY_ASSIGN(const auto api, context.api());
    ORBIT_TRY_ASSIGN(const std::string body, api->get(ref.target()));
    ORBIT_TRY_ASSIGN(const auto shown, Api::decode<wire::RunObject>(body));
    for (const wire::AttemptObject& attempt : shown.attempts) numbers[attempt.id] = attempt.number;
  }
  const auto target = [&](const PageOptions& page) {
    return ref.target({"events"}, {{"limit", number_text(page.limit)}, {"cursor", page.cursor}});
  };
  return show_list(context, target, args.page, into(events),
                   [&] { context.out << event_table_of_run(events, numbers, context.now(), context.terminal); });
}

}  // namespace

void add_run_report_commands(Command& run) {
  auto why = std::make_shared<RunArgs>();
  Command& why_command = run.add("why", "Why is my run where it is? In words, with the evidence");
  take_run(why_command, *why);
  why_command.run([why](Context& context) { return run_why(context, *why); });

  struct DiffArgs : RunArgs {
    std::string other;
    bool all = false;
  };
  auto diff = std::make_shared<DiffArgs>();
  Command& diff_command =
      run.add("diff", "What differs between two runs: request, template, code, environment, data, result");
  take_run(diff_command, *diff);
  diff_command.positional("other", &diff->other, "the run to compare it with")
      .flag("--all", diff->all, "every artifact, and digests in full")
      .examples("orbit run diff digits/lr-0.1 digits/lr-0.01")
      .run([diff](Context& context) { return run_diff(context, *diff, diff->other, diff->all); });

  auto verify = std::make_shared<RunArgs>();
  Command& verify_command = run.add(
      "verify", "Recompute every digest of a run and of what it made; exits with 1 when something does not hold");
  take_run(verify_command, *verify);
  verify_command.run([verify](Context& context) { return run_verify(context, *verify); });

  auto metrics = std::make_shared<MetricsArgs>();
  Command& metrics_command = run.add("metrics", "Metrics of an attempt, by step");
  take_run(metrics_command, *metrics);
  take_attempt(metrics_command, *metrics);
  metrics_command.option("--name", "NAME", &metrics->name, "only this metric")
      .option("--limit", "N", &metrics->page.limit, "how many points at most")
      .option("--cursor", "CURSOR", &metrics->page.cursor, "go on after a page (next_cursor of -o json)")
      .examples("orbit run metrics digits/first-try --name loss")
      .run([metrics](Context& context) { return run_metrics(context, *metrics); });

  auto checkpoints = std::make_shared<MetricsArgs>();
  Command& checkpoints_command =
      run.add("checkpoints", "Complete checkpoints of an attempt: what it can be resumed from");
  take_run(checkpoints_command, *checkpoints);
  take_attempt(checkpoints_command, *checkpoints);
  checkpoints_command.option("--limit", "N", &checkpoints->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &checkpoints->page.cursor, "go on after a page (next_cursor of -o json)")
      .run([checkpoints](Context& context) { return run_checkpoints(context, *checkpoints); });

  auto spec = std::make_shared<RunArgs>();
  Command& spec_command = run.add("spec", "Everything that was frozen of a run");
  take_run(spec_command, *spec);
  spec_command.run([spec](Context& context) { return run_spec(context, *spec); });

  auto events = std::make_shared<EventArgs>();
  Command& events_command = run.add("events", "What happened to a run, oldest first");
  take_run(events_command, *events);
  events_command
      .flag("--follow", events->follow, "also what happens from now on, until Ctrl-C; with -o json one object a line")
      .option("--limit", "N", &events->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &events->page.cursor, "go on after a page (next_cursor of -o json)")
      .run([events](Context& context) { return run_events(context, *events); });
}

}  // namespace orbit::cli
