// What an attempt reported: metrics and checkpoints.
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

Result<net::Response> metrics(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const Attempt attempt, attempt_in_path(context, view));
  ORBIT_TRY_ASSIGN(const auto points, reader->metrics(attempt.id, context.request.query_value("name").value_or("")));
  std::vector<wire::MetricObject> objects;
  objects.reserve(points.size());
  for (const MetricPoint& point : points) objects.push_back(wire::metric_object(point));
  // Fixed width and a sign-free base: the text sorts as (name, step) does.
  const auto key = [](const wire::MetricObject& point) {
    return fmt::format("{}\x01{:020}", point.name, static_cast<std::uint64_t>(point.step) ^ (std::uint64_t{1} << 63));
  };
  std::sort(objects.begin(), objects.end(),
            [](const auto& a, const auto& b) { return a.name != b.name ? a.name < b.name : a.step < b.step; });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, objects, key, 10'000, 100'000));
  return json_response(page);
}

Result<net::Response> checkpoints(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const Attempt attempt, attempt_in_path(context, view));
  ORBIT_TRY_ASSIGN(auto records, reader->checkpoints(attempt.id));
  const auto key = [](const CheckpointRecord& record) { return fmt::format("{:020}/{}", record.at.ms, record.path); };
  std::sort(records.begin(), records.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, records, key, 1000));
  return json_response(page);
}

}  // namespace

void add_attempt_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table
      .add(Method::get, "/api/v1/runs/{run}/attempts/{n}/metrics", viewer, "listMetrics", "Points by name and step",
           metrics)
      .run_in_path()
      .param("name", "Only this metric; absent: all")
      .paged()
      .returns<wire::List<wire::MetricObject>>();
  table
      .add(Method::get, "/api/v1/runs/{run}/attempts/{n}/checkpoints", viewer, "listCheckpoints",
           "Complete checkpoints, oldest first", checkpoints)
      .run_in_path()
      .paged()
      .returns<wire::List<CheckpointRecord>>();
}

}  // namespace orbit::server
