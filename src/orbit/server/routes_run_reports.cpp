// What can be asked about a run: what was frozen, why it is where it is, whether it holds, how it differs.
#include "orbit/bundle/bundle.hpp"
#include "orbit/server/diff.hpp"
#include "orbit/server/explain.hpp"
#include "orbit/server/frozen_spec.hpp"
#include "orbit/server/routes_common.hpp"
#include "orbit/server/verification.hpp"

namespace orbit::server {
namespace {

Result<net::Response> get_spec(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const auto spec, frozen_spec(view.run, context.api.blobs));
  return json_response(spec);
}

Result<net::Response> why(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const auto answer, explain(view, *reader, context.api.logs, context.api.writer));
  return json_response(answer);
}

Result<net::Response> verify(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const auto report, verify_run(view, *reader, context.api.blobs, context.api.backends));
  return json_response(report);
}

Result<net::Response> diff(RouteContext& context) {
  const auto with = context.request.query_value("with");
  if (!with) return fail(ErrorCode::invalid_argument, "is missing", "with", "?with=<run>");
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView left, run_in_path(context, *reader));
  // A bare name most likely means one of the same project.
  const auto project = context.request.query_value("with_project");
  Result<RunView> right = find_run(*reader, *with, project ? project : std::optional(left.run.project), "with");
  if (!right && !project && right.error().code == ErrorCode::not_found)
    right = find_run(*reader, *with, std::nullopt, "with");
  if (!right) return fail(std::move(right).error());
  ORBIT_TRY_ASSIGN(const auto report, diff_runs(left, *right, *reader, context.api.blobs));
  return json_response(report);
}

Result<net::Response> queue(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(auto items, queue_items(*reader, context.api.writer));
  const auto key = [](const wire::QueueItem& item) { return fmt::format("{:012}", item.position); };
  std::sort(items.begin(), items.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, items, key, 1000));
  return json_response(page);
}

// A frozen file, from the blob its manifest names.
Result<net::Response> bundle_file(RouteContext& context) {
  const std::string& path = path_param(context, "path");
  ORBIT_TRY(bundle::check_path(path, "path"));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  Digest digest = view.run.bundle;
  if (path != "bundle.json") {
    ORBIT_TRY_ASSIGN(const std::string text, context.api.blobs.get(view.run.bundle, bundle::max_manifest_bytes));
    ORBIT_TRY_ASSIGN(const BundleManifest manifest, bundle::parse_manifest(text));
    const auto it = std::find_if(manifest.files.begin(), manifest.files.end(),
                                 [&](const FileEntry& file) { return file.path == path; });
    if (it == manifest.files.end())
      return fail(ErrorCode::not_found, "the bundle has no such file", "path", "the run's spec lists what was frozen");
    digest = it->sha256;
  }
  ORBIT_TRY_ASSIGN(const auto file, context.api.blobs.path(digest));
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  if (error) return fail(ErrorCode::corrupt, "a frozen file of this bundle cannot be read", "path", "verify the run");
  const std::string etag = "\"" + digest.hex() + "\"";
  const RangeAnswer range = byte_range(context.request, size, etag);
  if (range.unsatisfiable) return unsatisfiable_range(size);
  net::Response response;
  make_download(response, path.substr(path.rfind('/') + 1));
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back("Orbit-Sha256", digest.hex());
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.file = file;
  if (range.range) {
    response.status = 206;
    response.file_offset = range.range->offset;
    response.file_length = range.range->length;
    response.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", range.range->offset,
                                                               range.range->offset + range.range->length - 1, size));
  }
  return response;
}

}  // namespace

void add_run_report_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table.add(Method::get, "/api/v1/runs/{run}/spec", viewer, "getRunSpec", "All that was frozen", get_spec)
      .run_in_path()
      .returns<wire::RunSpecObject>();
  table
      .add(Method::get, "/api/v1/runs/{run}/why", viewer, "explainRun", "Why the run is where it is, with evidence",
           why)
      .run_in_path()
      .returns<wire::WhyObject>();
  table
      .add(Method::post, "/api/v1/runs/{run}/verify", Access::at_least(Role::member), "verifyRun",
           "Recomputes every digest of the run and of what it made", verify)
      .run_in_path()
      .returns<wire::VerifyReport>();
  table.add(Method::get, "/api/v1/runs/{run}/diff", viewer, "diffRuns", "How two runs differ", diff)
      .run_in_path()
      .param("with", "The other run: id or name")
      .param("with_project", "Its project, where the name is not unique")
      .returns<wire::DiffReport>();
  table.add(Method::get, "/api/v1/runs/{run}/bundle/{path...}", viewer, "getBundleFile", "One frozen file", bundle_file)
      .run_in_path()
      .header("Range")
      .returns_bytes("application/octet-stream")
      .returns_bytes("application/octet-stream", 206, "The range that was asked for")
      .fails({416});
  table.add(Method::get, "/api/v1/queue", viewer, "listQueue", "What waits for a place, next first", queue)
      .paged()
      .returns<wire::List<wire::QueueItem>>();
}

}  // namespace orbit::server
