// Content by digest, sent before the submission that names it.
#include <set>

#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_digests = 10'000;
constexpr std::int64_t max_blob_bytes = std::int64_t{16} << 30;
constexpr std::int64_t max_question_bytes = 1 << 20;

Result<net::Response> missing_blobs(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::MissingBlobsRequest>(context));
  if (request.digests.size() > max_digests)
    return fail(ErrorCode::too_large, fmt::format("more than {} digests", max_digests), "digests",
                "ask in several calls");
  wire::MissingBlobs answer;
  std::set<Digest> asked;
  for (const Digest& digest : request.digests) {
    if (digest.empty()) return fail(ErrorCode::invalid_argument, "a digest is null", "digests");
    if (asked.insert(digest).second && !context.api.blobs.has(digest)) answer.missing.push_back(digest);
  }
  return json_response(answer);
}

Result<net::Response> put_blob(RouteContext& context) {
  auto digest = Digest::parse(path_param(context, "digest"));
  if (!digest) {
    digest.error().field = "digest";
    return fail(std::move(digest).error());
  }
  auto stored = context.api.blobs.put_file(*digest, context.request.body_file);
  if (!stored) {
    if (stored.error().code == ErrorCode::corrupt)
      return fail(ErrorCode::invalid_argument, "the bytes that were sent have another digest", "digest",
                  "the file changed while it was sent, or was damaged on the way: send it again");
    return fail(std::move(stored).error());
  }
  return json_response(wire::BlobObject{*digest, context.request.body_size}, 201);
}

}  // namespace

void add_blob_routes(RouteTable& table) {
  using net::Method;
  const Access member = Access::at_least(Role::member);
  table
      .add(Method::post, "/api/v1/blobs/missing", member, "findMissingBlobs", "Which of these the server does not have",
           missing_blobs)
      .takes<wire::MissingBlobsRequest>(max_question_bytes)
      .returns<wire::MissingBlobs>();
  table.add(Method::put, "/api/v1/blobs/{digest}", member, "putBlob", "Stores bytes under their SHA-256", put_blob)
      .describe("Idempotent. The digest is recomputed; bytes that do not have it are refused.")
      .takes_file(max_blob_bytes)
      .returns<wire::BlobObject>(201, "Stored")
      .fails({507});
}

}  // namespace orbit::server
