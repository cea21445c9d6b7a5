// event ls.
#include <ostream>

#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/event_follow.hpp"
#include "orbit/cli/event_view.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

struct EventArgs {
  std::optional<std::string> run, project;
  std::optional<std::int64_t> after;
  bool follow = false;
  PageOptions page;
};

Result<std::string> event_target(const EventArgs& args,
                                 std::vector<std::pair<std::string, std::optional<std::string>>> more) {
  if (!args.run) {
    if (args.project) return fail(ErrorCode::invalid_argument, "goes with --run", "--project");
    return api_path({"events"}) + query(more);
  }
  ORBIT_TRY_ASSIGN(const RunRef ref, parse_run_ref(*args.run, args.project));
  return ref.target({"events"}, std::move(more));
}

Result<int> event_ls(Context& context, const EventArgs& args) {
  ORBIT_TRY_ASSIGN(const std::string feed, event_target(args, {}));  // the checks, before anything is asked
  const auto after = args.after ? std::optional(std::to_string(*args.after)) : std::nullopt;
  if (args.follow) return print_events(context, feed, after);
  std::vector<wire::EventObject> events;
  // Without a position the newest: what happened just now is what people want to know.
  const bool newest = !args.after && !args.page.cursor;
  const std::int64_t wanted = args.page.limit.value_or(100);
  const auto target = [&](const PageOptions& page) {
    if (newest) return *event_target(args, {{"newest", std::to_string(wanted)}});
    const auto limit = page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt;
    return *event_target(args,
                         {{"limit", limit}, {"cursor", page.cursor}, {"after", page.cursor ? std::nullopt : after}});
  };
  auto shown = show_list(context, target, args.page, into(events), [&] {
    context.out << event_table(events, context.now(), context.terminal);
    if (newest && static_cast<std::int64_t>(events.size()) == wanted)
      context.note("these are the newest: --after 0 begins at the first");
  });
  if (!shown && shown.error().field == "newest")
    return fail(ErrorCode::invalid_argument, shown.error().message, "--limit",
                "of the newest; orbit event ls --after SEQ shows as many as you like");
  return shown;
}

}  // namespace

void add_event_commands(Command& root) {
  Command& group = root.add("event", "What happened: every change of state, with who, why and evidence");
  auto args = std::make_shared<EventArgs>();
  group.add("ls", "List the newest events, oldest first, or follow them")
      .flag("--follow", args->follow,
            "as they happen, from now on unless --after is given; with -o json one object a line")
      .option("--run", "RUN", &args->run, "only of this run")
      .option("-p,--project", "NAME", &args->project, "project of the run, where its name alone is not unique")
      .option("--after", "SEQ", &args->after, "only events with a greater seq, from the oldest of them on")
      .option("--limit", "N", &args->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &args->page.cursor, "go on after a page (next_cursor of -o json)")
      .examples("orbit event ls --follow\norbit event ls --run digits/first-try")
      .run([args](Context& context) { return event_ls(context, *args); });
}

}  // namespace orbit::cli
