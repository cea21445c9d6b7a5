// Templates and task types: files of the server's data directory.
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

template <class T>
Result<net::Response> page_of_files(const RouteContext& context, Result<std::map<std::string, T>> loaded) {
  if (!loaded) return fail(std::move(loaded).error());
  std::vector<T> items;
  for (auto& [id, item] : *loaded) items.push_back(std::move(item));
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, items, [](const T& item) { return item.id; }));
  return json_response(page);
}

template <class T>
Result<net::Response> one_file(const RouteContext& context, Result<std::map<std::string, T>> loaded,
                               const std::string& what) {
  if (!loaded) return fail(std::move(loaded).error());
  const std::string& id = path_param(context, "id");
  ORBIT_TRY(check_name(id, what));
  const auto it = loaded->find(id);
  if (it != loaded->end()) return json_response(it->second);
  std::vector<std::string> known;
  for (const auto& [name, item] : *loaded) known.push_back(name);
  return fail(ErrorCode::not_found, fmt::format("there is no {} '{}'", what, id), what,
              "there are: " + join(known, ", "));
}

Result<std::map<std::string, wire::TaskTypeObject>> task_types(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto types, context.api.submissions.task_types());
  std::map<std::string, wire::TaskTypeObject> objects;
  for (const auto& [id, type] : types) {
    wire::TaskTypeObject object;
    object.id = type.id;
    object.description = type.description;
    for (const auto& [name, rule] : type.inputs)
      object.inputs[name] = {std::string(json::name_of(rule.kind)), rule.required, rule.description};
    object.params_schema = type.params_schema;
    object.argv = type.argv;
    object.needs_entry = type.needs_entry;
    object.ad_hoc = type.ad_hoc;
    objects.emplace(id, std::move(object));
  }
  return objects;
}

Result<net::Response> list_templates(RouteContext& context) {
  return page_of_files(context, context.api.submissions.templates());
}
Result<net::Response> get_template(RouteContext& context) {
  return one_file(context, context.api.submissions.templates(), "template");
}
Result<net::Response> list_task_types(RouteContext& context) {
  return page_of_files(context, task_types(context));
}
Result<net::Response> get_task_type(RouteContext& context) {
  return one_file(context, task_types(context), "task type");
}

}  // namespace

void add_catalog_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table.add(Method::get, "/api/v1/templates", viewer, "listTemplates", "Execution templates by id", list_templates)
      .paged()
      .returns<wire::List<Template>>();
  table.add(Method::get, "/api/v1/templates/{id}", viewer, "getTemplate", "One template", get_template)
      .returns<Template>()
      .fails({404});
  table.add(Method::get, "/api/v1/task-types", viewer, "listTaskTypes", "Task types by id", list_task_types)
      .paged()
      .returns<wire::List<wire::TaskTypeObject>>();
  table.add(Method::get, "/api/v1/task-types/{id}", viewer, "getTaskType", "One task type", get_task_type)
      .returns<wire::TaskTypeObject>()
      .fails({404});
}

}  // namespace orbit::server
