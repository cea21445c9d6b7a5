#include "orbit/cli/event_view.hpp"

#include "orbit/base/json.hpp"

namespace orbit::cli {
namespace {

std::string what(const wire::EventObject& event) {
  std::string out(json::name_of(event.kind));
  if (event.from && event.to)
    out = fmt::format("{} → {}", json::name_of(*event.from), json::name_of(*event.to));
  else if (event.to)
    out += fmt::format(" {}", json::name_of(*event.to));
  return out;
}

std::string why(const wire::EventObject& event) {
  if (!event.reason) return event.evidence;
  const std::string reason(json::name_of(*event.reason));
  return event.evidence.empty() ? reason : reason + ": " + event.evidence;
}

Colour colour(const wire::EventObject& event) {
  return event.to ? colour_of(*event.to) : Colour::none;
}

std::string subject(const wire::EventObject& event) {
  if (event.run) return *event.run;
  return event.project.value_or("");
}

}  // namespace

std::string event_table(const std::vector<wire::EventObject>& events, WallTime now, const Terminal& terminal) {
  Table table({{"SEQ", true}, {"WHEN"}, {"WHAT", false, true}, {"ABOUT"}, {"BY", false, true}, {"WHY", false, true}});
  for (const wire::EventObject& event : events)
    table.add({{std::to_string(event.seq)},
               {ago(event.at, now)},
               {what(event), colour(event)},
               {subject(event)},
               {event.actor},
               {why(event)}});
  return table.text(terminal.out ? static_cast<std::size_t>(terminal.width) : 0, terminal.colour_out);
}

std::string event_table_of_run(const std::vector<wire::EventObject>& events,
                               const std::map<std::string, std::int32_t>& attempts, WallTime now,
                               const Terminal& terminal) {
  Table table({{"SEQ", true}, {"WHEN"}, {"#", true}, {"WHAT", false, true}, {"BY", false, true}, {"WHY", false, true}});
  for (const wire::EventObject& event : events) {
    const auto attempt = event.attempt ? attempts.find(*event.attempt) : attempts.end();
    table.add({{std::to_string(event.seq)},
               {ago(event.at, now)},
               {attempt == attempts.end() ? std::string() : std::to_string(attempt->second)},
               {what(event), colour(event)},
               {event.actor},
               {why(event)}});
  }
  return table.text(terminal.out ? static_cast<std::size_t>(terminal.width) : 0, terminal.colour_out);
}

std::string event_line(const wire::EventObject& event, const Terminal& terminal) {
  std::string out = fmt::format("{}  {}  {}", to_rfc3339(event.at), escape(subject(event)),
                                paint(what(event), colour(event), terminal.colour_out));
  out += "  by " + escape(event.actor);
  if (const std::string reason = why(event); !reason.empty()) out += ": " + escape(reason);
  return out + "\n";
}

}  // namespace orbit::cli
