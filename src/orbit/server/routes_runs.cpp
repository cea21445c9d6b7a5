// Runs: submitted, listed, stopped, thrown again.
#include "orbit/decide/lifecycle.hpp"
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

Result<net::Response> submit(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::SubmitRequest>(context));
  if (request.dry_run.value_or(false)) {
    ORBIT_TRY_ASSIGN(const auto preview, context.api.submissions.preview(request, context.caller.name));
    return json_response(preview);
  }
  ORBIT_TRY_ASSIGN(const Submitted submitted, context.api.submissions.submit(request, context.caller.name));
  net::Response response = json_response(run_object(context, submitted.run), submitted.created ? 201 : 200);
  response.headers.emplace_back("Location", "/api/v1/runs/" + submitted.run.run.id.str());
  return response;
}

Result<net::Response> list_runs(RouteContext& context) {
  RunFilter filter;
  for (const auto& [key, target] : {std::pair("project", &filter.project), std::pair("experiment", &filter.experiment),
                                    std::pair("created_by", &filter.created_by)}) {
    *target = context.request.query_value(key);
    if (*target) ORBIT_TRY(check_name(**target, key));
  }
  filter.tag = context.request.query_value("tag");
  if (const auto state = context.request.query_value("state")) {
    ORBIT_TRY_ASSIGN(filter.state, json::parse_enum<AttemptState>(*state, "state"));
  }
  ORBIT_TRY_ASSIGN(const std::int32_t limit, page_limit(context));
  ORBIT_TRY_ASSIGN(const std::int64_t before, page_number(context));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  if (filter.project) ORBIT_TRY(find_project(*reader, *filter.project));
  if (filter.project && filter.experiment) ORBIT_TRY(find_experiment(*reader, *filter.project, *filter.experiment));
  // One more than asked for tells whether there is a further page.
  ORBIT_TRY_ASSIGN(auto views, reader->runs(filter, Page{before, limit + 1}));
  wire::List<wire::RunObject> list;
  if (views.size() > static_cast<std::size_t>(limit)) {
    views.resize(static_cast<std::size_t>(limit));
    list.next_cursor = cursor_after(std::to_string(views.back().run.seq));
  }
  for (const RunView& view : views) list.items.push_back(run_object(context, view));
  return json_response(list);
}

Result<net::Response> get_run(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  return json_response(run_object(context, view));
}

Result<net::Response> stop(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY(check_may_act_on(context, view.run.created_by, "this run"));
  if (view.attempts.empty()) return fail(ErrorCode::conflict, "the run has no attempt to stop", "run");
  const AttemptId attempt = view.attempts.back().id;
  ORBIT_TRY(context.api.writer.run([attempt, actor = context.caller.name](const World& world, Now now) {
    return decide::request_stop(world, attempt, actor, now);
  }));
  ORBIT_TRY_ASSIGN(const auto object, run_object_now(context, view.run.id));
  return json_response(object);
}

Result<net::Response> rerun(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::RerunRequest>(context));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY(check_may_act_on(context, view.run.created_by, "this run"));
  ORBIT_TRY(context.api.attempts.rerun(view, request, context.caller.name));
  ORBIT_TRY_ASSIGN(const auto object, run_object_now(context, view.run.id));
  return json_response(object, 201);
}

Result<net::Response> resume(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::ResumeRequest>(context));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY(check_may_act_on(context, view.run.created_by, "this run"));
  ORBIT_TRY(context.api.attempts.resume(view, request, context.caller.name));
  ORBIT_TRY_ASSIGN(const auto object, run_object_now(context, view.run.id));
  return json_response(object, 201);
}

}  // namespace

void add_run_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  const Access member = Access::at_least(Role::member);
  const Access own = Access::own_or_operator();
  table
      .add(Method::post, "/api/v1/runs", member, "submitRun", "Freezes a submission and queues its first attempt",
           submit)
      .describe(
          "The code travels before as blobs. With dry_run nothing is recorded and the answer says what would be "
          "frozen. The "
          "same id sent twice makes one run.")
      .takes<wire::SubmitRequest>(1 << 20)
      .returns<wire::SubmitPreview>(200, "dry_run: what would be frozen. Without it: the run that this id made before")
      .returns<wire::RunObject>(200, "The run that this id made before")
      .returns<wire::RunObject>(201, "Recorded")
      .fails({404, 409, 501, 507});
  table.add(Method::get, "/api/v1/runs", viewer, "listRuns", "Runs, newest first", list_runs)
      .param("project", "Only this project's")
      .param("experiment", "Only this experiment's")
      .param("tag", "Only with this tag")
      .param("state", "Only with this state of the latest attempt")
      .param("created_by", "Only of this person")
      .paged()
      .returns<wire::List<wire::RunObject>>();
  table.add(Method::get, "/api/v1/runs/{run}", viewer, "getRun", "One run with its attempts", get_run)
      .run_in_path()
      .returns<wire::RunObject>();
  table.add(Method::post, "/api/v1/runs/{run}/stop", own, "stopRun", "Asks the latest attempt to end", stop)
      .describe("Asking twice is fine. The attempt ends as terminated, once its workload did.")
      .run_in_path()
      .returns<wire::RunObject>();
  table.add(Method::post, "/api/v1/runs/{run}/rerun", own, "rerunRun", "A further attempt with the same bundle", rerun)
      .run_in_path()
      .takes<wire::RerunRequest>()
      .returns<wire::RunObject>(201, "Queued")
      .fails({501});
  table.add(Method::post, "/api/v1/runs/{run}/resume", own, "resumeRun", "A further attempt from a checkpoint", resume)
      .run_in_path()
      .takes<wire::ResumeRequest>()
      .returns<wire::RunObject>(201, "Queued")
      .fails({501});
}

}  // namespace orbit::server
