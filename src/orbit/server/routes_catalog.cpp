// Templates and task types: files of the server's data directory.
#include "orbit/server/routes_common.hpp"
#include "orbit/spec/template.hpp"

namespace orbit::server {
namespace {

template <class Object, class T>
Result<net::Response> page_of_files(const RouteContext& context, const std::map<std::string, T>& good,
                                    Object (*object)(const T&)) {
  std::vector<Object> items;
  for (const auto& [id, item] : good) items.push_back(object(item));
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, items, [](const Object& item) { return item.id; }));
  return json_response(page);
}

wire::TemplateObject template_object(const Template& value) {
  return {value, digest_of(value)};
}

wire::TaskTypeObject task_type_object(const spec::TaskType& type) {
  wire::TaskTypeObject object;
  object.id = type.id;
  object.description = type.description;
  for (const auto& [name, rule] : type.inputs)
    object.inputs[name] = {std::string(json::name_of(rule.kind)), rule.required, rule.description};
  object.params_schema = type.params_schema;
  object.argv = type.argv;
  object.needs_entry = type.needs_entry;
  object.ad_hoc = type.ad_hoc;
  return object;
}

Result<net::Response> list_templates(RouteContext& context) {
  return page_of_files(context, context.api.submissions.catalog().templates().good, template_object);
}
Result<net::Response> get_template(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const Template found, context.api.submissions.catalog().find_template(path_param(context, "id")));
  return json_response(template_object(found));
}
Result<net::Response> list_task_types(RouteContext& context) {
  return page_of_files(context, context.api.submissions.catalog().task_types().good, task_type_object);
}
Result<net::Response> get_task_type(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const spec::TaskType found,
                   context.api.submissions.catalog().find_task_type(path_param(context, "id")));
  return json_response(task_type_object(found));
}

}  // namespace

void add_catalog_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table
      .add(Method::get, "/api/v1/templates", viewer, "listTemplates",
           "Execution templates by id; a file that cannot be used is left out and named in the server's log",
           list_templates)
      .paged()
      .returns<wire::List<wire::TemplateObject>>();
  table.add(Method::get, "/api/v1/templates/{id}", viewer, "getTemplate", "One template", get_template)
      .returns<wire::TemplateObject>()
      .fails({404});
  table.add(Method::get, "/api/v1/task-types", viewer, "listTaskTypes", "Task types by id", list_task_types)
      .paged()
      .returns<wire::List<wire::TaskTypeObject>>();
  table.add(Method::get, "/api/v1/task-types/{id}", viewer, "getTaskType", "One task type", get_task_type)
      .returns<wire::TaskTypeObject>()
      .fails({404});
}

}  // namespace orbit::server
