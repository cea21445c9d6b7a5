// template ls|show|check.
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/frozen_view.hpp"
#include "orbit/cli/views.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::cli {
namespace {

void show_template(Context& context, const Template& value) {
  Fields fields;
  fields.add("template", value.id, Colour::bold);
  fields.add("description", value.description);
  fields.add("backend", backend_key(value.placement, value.launch));
  fields.add("digest", digest_of(value).hex());
  add_values(fields, value.defaults);
  if (value.defaults.environment) fields.add("environment", describe_environment(*value.defaults.environment));
  fields.add("may be changed", join(value.allow_overrides, ", "));
  context.out << fields.text(context.terminal.colour_out);
}

Result<int> template_ls(Context& context, const PageOptions& args) {
  std::vector<Template> templates;
  const auto target = [](const PageOptions& page) {
    return api_path({"templates"}) +
           query({{"limit", page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt},
                  {"cursor", page.cursor}});
  };
  return show_list(context, target, args, into(templates), [&] {
    if (templates.empty()) {
      context.note("no templates: put YAML files into DATA/templates");
      return;
    }
    Table table({{"ID", false, true}, {"BACKEND"}, {"DIGEST"}, {"DESCRIPTION", false, true}});
    for (const Template& value : templates)
      table.add({{value.id},
                 {backend_key(value.placement, value.launch)},
                 {digest_of(value).hex().substr(0, 12)},
                 {value.description}});
    table.print(context.out, context.terminal);
  });
}

// Each file on its own, so that one error does not hide the next.
Result<int> template_check(Context& context, const std::vector<std::string>& files) {
  bool ok = true;
  json::Array results;
  for (const std::string& file : files) {
    const auto check = [&]() -> Result<Template> {
      ORBIT_TRY_ASSIGN(const std::string text, platform::read_file(file, 1 << 20));
      return spec::parse_template(text, file);
    };
    const auto checked = check();
    ok = ok && checked.has_value();
    if (context.json())
      results.push_back(
          json::Object{{"file", file},
                       {"ok", checked.has_value()},
                       {"id", checked ? json::Value(checked->id) : json::Value(nullptr)},
                       {"digest", checked ? json::Value(digest_of(*checked).hex()) : json::Value(nullptr)},
                       {"error", checked ? json::Value(nullptr) : json::Value(checked.error().text())}});
    else if (checked)
      context.out << fmt::format("{}: {} is fine, digest {}\n", escape(file), escape(checked->id),
                                 digest_of(*checked).hex());
    else
      context.err << error_text(checked.error(), context.terminal.colour_err);
  }
  if (context.json()) context.print_json(json::dump(json::Object{{"items", results}, {"next_cursor", nullptr}}));
  return ok ? 0 : 1;
}

}  // namespace

void add_catalog_commands(Command& root) {
  Command& group = root.add("template", "Execution templates: where and how runs are executed");
  auto page = std::make_shared<PageOptions>();
  group.add("ls", "List the server's templates")
      .option("--limit", "N", &page->limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &page->cursor, "go on after a page (next_cursor of -o json)")
      .run([page](Context& context) { return template_ls(context, *page); });
  auto id = std::make_shared<std::string>();
  group.add("show", "Show a template").positional("id", id.get(), "its id").run([id](Context& context) -> Result<int> {
    ORBIT_TRY_ASSIGN(const auto api, context.api());
    return show_one<Template>(context, api->get(api_path({"templates", *id})),
                              [&](const Template& found) { show_template(context, found); });
  });
  auto files = std::make_shared<std::vector<std::string>>();
  group.add("check", "Check template files without a server; exits with 1 when one is wrong")
      .positional("file", files.get(), "template files")
      .examples("orbit template check my-templates/*.yaml")
      .run([files](Context& context) { return template_check(context, *files); });
}

}  // namespace orbit::cli
