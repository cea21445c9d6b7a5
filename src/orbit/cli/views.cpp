#include "orbit/cli/views.hpp"

#include <algorithm>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/frozen_view.hpp"

namespace orbit::cli {

std::string text_at(const json::Value& value, std::string_view key) {
  if (!value.is_object()) return {};
  const json::Value* member = value.get_object().if_contains(key);
  if (member == nullptr || member->is_null()) return {};
  if (member->is_string()) return std::string(member->get_string());
  return json::dump(*member);
}

std::string describe_environment(const EnvironmentProfile& environment) {
  if (environment.any) return "any";
  std::vector<std::string> parts;
  const auto add = [&](const char* key, const std::optional<std::string>& value) {
    if (value) parts.push_back(fmt::format("{} {}", key, *value));
  };
  add("os", environment.os);
  add("python", environment.python);
  add("cuda", environment.cuda);
  add("driver", environment.driver);
  for (const auto& [name, version] : environment.packages) parts.push_back(name + " " + version);
  return join(parts, ", ");
}

std::string describe_end(const wire::AttemptObject& attempt) {
  std::string out = attempt.reason ? std::string(json::name_of(*attempt.reason)) : std::string();
  const auto more = [&](const std::string& text) { out += out.empty() ? text : ", " + text; };
  if (attempt.exit_code) more(fmt::format("exit code {}", *attempt.exit_code));
  if (attempt.signal) more(fmt::format("signal {}", *attempt.signal));
  if (!attempt.detail.empty()) out += (out.empty() ? "" : ": ") + escape(attempt.detail);
  return out;
}

std::string describe_code(const CodeRevision& code) {
  std::string out = code.source;
  if (code.commit) out += " at " + code.commit->substr(0, 12);
  if (code.dirty) out += " with uncommitted changes";
  return out;
}

Cell state_cell(AttemptState state) {
  return {std::string(json::name_of(state)), colour_of(state)};
}

std::string run_table(const std::vector<wire::RunObject>& runs, WallTime now, const Terminal& terminal) {
  const auto reason = [](const wire::RunObject& run) {
    return run.reason && *run.reason != Reason::completed ? std::string(json::name_of(*run.reason)) : std::string();
  };
  // Only where there is one to show: names get the columns otherwise.
  const bool reasons = std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return !reason(run).empty(); });
  std::vector<Table::Column> columns{{"RUN", false, true}, {"STATE"}, {"#", true}, {"SENT"}, {"ID"}};
  if (reasons) columns.insert(columns.begin() + 2, {"REASON", false, true});
  Table table(std::move(columns));
  for (const wire::RunObject& run : runs) {
    // The name as commands take it: project/name. With the id that leaves it 27 of 80 columns.
    std::vector<Cell> row{{run.project + "/" + run.name},
                          state_cell(run.state),
                          {std::to_string(run.attempts.size())},
                          {ago(run.created_at, now)},
                          {run.id}};
    if (reasons) row.insert(row.begin() + 2, Cell{reason(run)});
    table.add(std::move(row));
  }
  return table.text(terminal.out ? static_cast<std::size_t>(terminal.width) : 0, terminal.colour_out);
}

namespace {

// Of the workload: to the millisecond while that is all there is.
std::string took(const wire::AttemptObject& attempt) {
  if (!attempt.duration_s) return {};
  if (*attempt.duration_s == 0 && attempt.started_at && attempt.ended_at)
    return fmt::format("{}ms", attempt.ended_at->ms - attempt.started_at->ms);
  return human_duration(*attempt.duration_s);
}

}  // namespace

std::string attempt_table(const std::vector<wire::AttemptObject>& attempts, const Terminal& terminal) {
  Table table({{"#", true},
               {"STATE"},
               {"REASON", false, true},
               {"EXIT", true},
               {"TOOK", true},
               {"FILES", true},
               {"WHERE", false, true},
               {"FROM", false, true}});
  for (const wire::AttemptObject& attempt : attempts) {
    std::string exit;
    if (attempt.exit_code) exit = std::to_string(*attempt.exit_code);
    if (attempt.signal) exit = "SIG" + std::to_string(*attempt.signal);
    Cell state = state_cell(attempt.state);
    if (attempt.reachability != Reachability::live && !is_final(attempt.state))
      state.text += fmt::format(" ({})", json::name_of(attempt.reachability));
    if (attempt.desired == Desired::stop && !is_final(attempt.state)) state.text += " (stopping)";
    table.add({{std::to_string(attempt.number)},
               state,
               {attempt.reason ? std::string(json::name_of(*attempt.reason)) : std::string()},
               {exit},
               {took(attempt)},
               {std::to_string(attempt.artifact_count)},
               {attempt.node ? *attempt.node : attempt.placement},
               {attempt.resume ? attempt.resume->checkpoint : std::string()}});
  }
  return table.text(terminal.out ? static_cast<std::size_t>(terminal.width) : 0, terminal.colour_out);
}

std::string run_details(const wire::RunObject& run, const wire::RunSpecObject* spec, const Terminal& terminal) {
  Fields fields;
  fields.add("run", run.name, Colour::bold);
  fields.add("id", run.id);
  fields.add("project", run.project);
  fields.add("experiment", run.experiment.value_or(""));
  fields.add("tags", join(run.tags, ", "));
  fields.add("state", std::string(json::name_of(run.state)), colour_of(run.state));
  fields.add("reason", run.reason ? std::string(json::name_of(*run.reason)) : std::string());
  if (run.succeeded_attempt) fields.add("succeeded", fmt::format("attempt {}", *run.succeeded_attempt));
  fields.add("task", run.task);
  fields.add("template", fmt::format("{} ({})", run.template_id, run.template_digest.hex().substr(0, 12)));
  fields.add("code", describe_code(run.code));
  fields.add("environment", describe_environment(run.environment));
  fields.add("bundle", run.bundle_digest.hex());
  if (spec != nullptr) add_inputs(fields, *spec);
  add_data(fields, run.data);
  std::vector<std::string> params;
  for (const auto& [key, text] : run.params_text) params.push_back(key + "=" + text);
  fields.add("params", join(params, " "));
  fields.add("submitted", fmt::format("{} by {}", to_rfc3339(run.created_at), run.created_by));
  if (!run.attempts.empty()) {
    const wire::AttemptObject& last = run.attempts.back();
    fields.add("started", last.started_at ? to_rfc3339(*last.started_at) : std::string());
    fields.add("ended", last.ended_at ? to_rfc3339(*last.ended_at) : std::string());
    fields.add("detail", last.detail);
    if (last.artifact_count > 0)
      fields.add("artifacts",
                 fmt::format("{}, {}{}", counted(last.artifact_count, "file"), human_bytes(last.artifact_bytes),
                             last.artifacts_digest ? ", " + last.artifacts_digest->hex().substr(0, 12) : ""));
  }
  return fields.text(terminal.colour_out) + "\n" + attempt_table(run.attempts, terminal);
}

Result<int> show_list(Context& context, const std::function<std::string(const PageOptions&)>& target, PageOptions page,
                      const std::function<Result<void>(const json::Value&)>& add, const std::function<void()>& print) {
  if (page.limit && *page.limit < 1)
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a number from 1", *page.limit), "--limit",
                "how many to show; leave it out for 100");
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  if (context.json()) {
    ORBIT_TRY_ASSIGN(const std::string body, api->get(target(page)));
    context.print_json(body);
    return 0;
  }
  constexpr std::int64_t page_size = 100;
  std::int64_t left = page.limit.value_or(page_size);
  bool more = false;
  while (left > 0) {
    page.limit = std::min(left, page_size);
    ORBIT_TRY_ASSIGN(const auto body, api->get_as<json::Value>(target(page)));
    const json::Value* items = body.is_object() ? body.get_object().if_contains("items") : nullptr;
    if (items == nullptr || !items->is_array())
      return fail(ErrorCode::internal, "the server's answer is no list", {}, "is it an orbit server? see orbit doctor");
    for (const json::Value& item : items->get_array()) {
      ORBIT_TRY(add(item));
      --left;
    }
    const std::string next = text_at(body, "next_cursor");
    more = !next.empty();
    if (!more || items->get_array().empty()) break;
    page.cursor = next;
  }
  print();
  if (more) context.note("there is more: --limit shows more of it, -o json has the cursor");
  return 0;
}

}  // namespace orbit::cli
