// Artifacts of an attempt, also while it lives (R17).
#include <algorithm>
#include <stdexcept>

#include "orbit/bundle/bundle.hpp"
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

struct Listing {
  std::shared_ptr<const ArtifactManifest> manifest = std::make_shared<ArtifactManifest>();  // sorted by path
  bool collected = false;
};

bool by_path(const Artifact& a, const Artifact& b) {
  return a.path < b.path;
}

Result<Placement*> place_of(const RouteContext& context, const Attempt& attempt) {
  return context.api.backends.find(attempt.placement, attempt.launch);
}

// The verified manifest once there is one, else what lies there now.
Result<Listing> listing(const RouteContext& context, const Attempt& attempt) {
  Listing out;
  if (!attempt.artifacts.empty()) {
    ORBIT_TRY_ASSIGN(out.manifest, context.manifests.of(context.api.blobs, attempt.artifacts));
    out.collected = true;
    return out;
  }
  if (attempt.handle.empty()) return out;
  ORBIT_TRY_ASSIGN(Placement* const place, place_of(context, attempt));
  auto live = place->list_artifacts(attempt.handle);
  // Made, but nothing is there yet.
  if (!live && live.error().code == ErrorCode::not_found) return out;
  if (!live) return fail(std::move(live).error());
  std::sort(live->artifacts.begin(), live->artifacts.end(), by_path);
  out.manifest = std::make_shared<ArtifactManifest>(std::move(*live));
  return out;
}

Result<net::Response> list_artifacts(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const Attempt attempt, attempt_in_path(context, view));
  ORBIT_TRY_ASSIGN(const Listing found, listing(context, attempt));
  ORBIT_TRY_ASSIGN(
      auto page,
      page_of(context, found.manifest->artifacts, [](const Artifact& item) { return item.path; }, 1000, 10'000));
  wire::ArtifactListObject object;
  object.items = std::move(page.items);
  object.next_cursor = std::move(page.next_cursor);
  object.collected = found.collected;
  object.skipped = found.manifest->skipped;
  return json_response(object);
}

std::size_t at_most(std::size_t bytes, std::optional<std::int64_t> left) {
  return left ? std::min(bytes, static_cast<std::size_t>(*left)) : bytes;
}

// Reads through the placement, piece by piece.
class ArtifactSource : public net::BodySource {
 public:
  ArtifactSource(Placement& place, std::string handle, std::string path, std::int64_t offset,
                 std::optional<std::int64_t> length, std::string first)
      : place_(place),
        handle_(std::move(handle)),
        path_(std::move(path)),
        offset_(offset),
        left_(length),
        first_(std::move(first)) {}

  Piece next(std::size_t max_bytes, std::function<void()>) override {
    Piece piece;
    piece.bytes = std::move(first_);
    first_.clear();
    if (piece.bytes.empty()) {
      auto read = place_.read_artifact(handle_, path_, offset_, at_most(max_bytes, left_));
      // Thrown, so that the answer is cut: a part must not pass for the whole.
      if (!read) throw std::runtime_error(read.error().text());
      piece.bytes = std::move(*read);
    }
    const auto size = static_cast<std::int64_t>(piece.bytes.size());
    offset_ += size;
    if (left_) {
      *left_ -= size;
      if (*left_ > 0 && size == 0) throw std::runtime_error(path_ + " is shorter than it was");
      piece.end = *left_ <= 0;
    } else {
      piece.end = size == 0;
    }
    return piece;
  }

 private:
  Placement& place_;
  const std::string handle_;
  const std::string path_;
  std::int64_t offset_;
  std::optional<std::int64_t> left_;  // nothing: to wherever the end is then
  std::string first_;
};

constexpr std::size_t first_piece_bytes = 64 * 1024;

Result<net::Response> get_artifact(RouteContext& context) {
  const std::string& path = path_param(context, "path");
  ORBIT_TRY(bundle::check_path(path, "path"));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const RunView view, run_in_path(context, *reader));
  ORBIT_TRY_ASSIGN(const Attempt attempt, attempt_in_path(context, view));
  const auto missing = [&] {
    return fail(ErrorCode::not_found, fmt::format("attempt {} has no such artifact", attempt.number), "path",
                fmt::format("orbit run artifacts ls {}", view.run.name));
  };
  if (attempt.handle.empty()) return missing();

  // While the attempt lives the size is only looked for where a range needs it.
  std::optional<Artifact> known;
  if (!attempt.artifacts.empty() || context.request.headers.contains("range")) {
    ORBIT_TRY_ASSIGN(const Listing found, listing(context, attempt));
    const auto& items = found.manifest->artifacts;
    const auto it =
        std::lower_bound(items.begin(), items.end(), path,
                         [](const Artifact& item, const std::string& wanted) { return item.path < wanted; });
    if (it == items.end() || it->path != path) return missing();
    known = *it;
    if (known->kind == ArtifactKind::symlink)
      return fail(ErrorCode::invalid_argument, "is a symbolic link: recorded, never followed", "path",
                  "its target is in the list of artifacts");
  }

  net::Response response;
  make_download(response, path.substr(path.rfind('/') + 1));
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
  if (known) {
    const std::string etag = known->sha256.empty() ? std::string() : "\"" + known->sha256.hex() + "\"";
    const RangeAnswer range = byte_range(context.request, known->size_bytes, etag);
    if (range.unsatisfiable) return unsatisfiable_range(known->size_bytes);
    length = known->size_bytes;
    if (!etag.empty()) {
      response.headers.emplace_back("ETag", etag);
      response.headers.emplace_back("Orbit-Sha256", known->sha256.hex());
    }
    response.headers.emplace_back("Orbit-Size", std::to_string(known->size_bytes));
    if (range.range) {
      offset = range.range->offset;
      length = range.range->length;
      response.status = 206;
      response.headers.emplace_back("Content-Range",
                                    fmt::format("bytes {}-{}/{}", offset, offset + *length - 1, known->size_bytes));
    }
  }
  response.headers.emplace_back("Accept-Ranges", "bytes");

  ORBIT_TRY_ASSIGN(Placement* const place, place_of(context, attempt));
  // The first piece is read before the head is sent: what cannot be read is an error with a status.
  auto first = place->read_artifact(attempt.handle, path, offset, at_most(first_piece_bytes, length));
  if (!first && first.error().code == ErrorCode::not_found) {
    if (attempt.artifacts.empty()) return missing();
    return fail(ErrorCode::corrupt, "was collected and is recorded, but its file is gone", "path",
                fmt::format("orbit run verify {} says what is left", view.run.name));
  }
  if (!first) return fail(std::move(first).error());
  const auto first_size = static_cast<std::int64_t>(first->size());
  if (first->empty() || (length && first_size == *length)) {
    if (length && first_size != *length)
      return fail(ErrorCode::corrupt, "is shorter than it was when it was collected", "path", "verify the run");
    response.body = std::move(*first);
    return response;
  }
  response.source = std::make_shared<ArtifactSource>(*place, attempt.handle, path, offset, length, std::move(*first));
  return response;
}

}  // namespace

void add_artifact_routes(RouteTable& table) {
  using net::Method;
  const Access viewer = Access::at_least(Role::viewer);
  table
      .add(Method::get, "/api/v1/runs/{run}/attempts/{n}/artifacts", viewer, "listArtifacts",
           "What the attempt made, by path; while it lives without digests", list_artifacts)
      .run_in_path()
      .paged()
      .returns<wire::ArtifactListObject>();
  table
      .add(Method::get, "/api/v1/runs/{run}/attempts/{n}/artifacts/{path...}", viewer, "getArtifact", "One artifact",
           get_artifact)
      .describe("Once collected, Orbit-Sha256 and Orbit-Size say what must arrive.")
      .run_in_path()
      .header("Range")
      .returns_bytes("application/octet-stream")
      .returns_bytes("application/octet-stream", 206, "The range that was asked for")
      .fails({416});
}

}  // namespace orbit::server
