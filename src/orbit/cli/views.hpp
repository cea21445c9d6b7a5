// How the API's objects look to people; shared by the families of commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/render.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

// Member of an object as text: strings as they are, other scalars as JSON, empty when absent or null.
std::string text_at(const json::Value& value, std::string_view key);

std::string describe_environment(const EnvironmentProfile& environment);
// "exit_nonzero, exit code 3: …"; for an attempt that ended.
std::string describe_end(const wire::AttemptObject& attempt);
std::string describe_code(const CodeRevision& code);
Cell state_cell(AttemptState state);

std::string run_table(const std::vector<wire::RunObject>& runs, WallTime now, const Terminal& terminal);
// `spec` null: it cannot be had.
std::string run_details(const wire::RunObject& run, const wire::RunSpecObject* spec, const Terminal& terminal);
std::string attempt_table(const std::vector<wire::AttemptObject>& attempts, const Terminal& terminal);

struct PageOptions {
  std::optional<std::int64_t> limit;
  std::optional<std::string> cursor;
};
// A list. With -o json one page verbatim; for people, pages are fetched up to `limit` (100 unless given), and a remark
// says when there is more. `add` takes an item.
Result<int> show_list(Context& context, const std::function<std::string(const PageOptions&)>& target, PageOptions page,
                      const std::function<Result<void>(const json::Value&)>& add, const std::function<void()>& print);
template <class T>
std::function<Result<void>(const json::Value&)> into(std::vector<T>& items) {
  return [&items](const json::Value& value) -> Result<void> {
    ORBIT_TRY_ASSIGN(T item, json::to<T>(value, json::From::ours));
    items.push_back(std::move(item));
    return {};
  };
}

// One object: verbatim, or read and shown.
template <class T, class F>
Result<int> show_one(Context& context, const Result<std::string>& body, F&& show) {
  if (!body) return fail(body.error());
  if (context.json()) {
    context.print_json(*body);
    return 0;
  }
  ORBIT_TRY_ASSIGN(const T object, Api::decode<T>(*body));
  show(object);
  return 0;
}

}  // namespace orbit::cli
