#include <algorithm>

#include "orbit/base/json.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/paths.hpp"

namespace orbit::bundle {
namespace {

// 100,000 paths of the greatest length fit.

bool may_be_frozen(std::string_view path) {
  return path == "job.json" || path.substr(0, 7) == "inputs/" || path.substr(0, 8) == "scripts/";
}

}  // namespace

std::string manifest_text(const BundleManifest& manifest) {
  BundleManifest sorted = manifest;
  std::sort(sorted.files.begin(), sorted.files.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  return json::canonical(json::from(sorted));
}

Digest manifest_digest(const BundleManifest& manifest) {
  return Sha256::of(manifest_text(manifest));
}

Result<BundleManifest> parse_manifest(std::string_view text) {
  if (text.size() > max_manifest_bytes)
    return fail(ErrorCode::too_large, fmt::format("the manifest has more than {} bytes", max_manifest_bytes),
                "bundle.json");
  auto parsed = json::decode<BundleManifest>(text, json::From::ours);
  if (!parsed) {
    parsed.error().field = parsed.error().field.empty() ? "bundle.json" : "bundle.json: " + parsed.error().field;
    return parsed;
  }
  if (parsed->schema != 1)
    return fail(ErrorCode::unsupported, fmt::format("the manifest has schema {}, this version knows 1", parsed->schema),
                "bundle.json", "use a newer orbit");
  ORBIT_TRY(check_list(parsed->files, Limits{}));
  for (const FileEntry& file : parsed->files)
    if (!may_be_frozen(file.path))
      return fail(ErrorCode::invalid_argument, "may not be in a bundle", printable(file.path),
                  "a bundle freezes job.json, inputs/ and scripts/");
  // One list, one text, one digest: nothing may be said in two ways.
  if (manifest_text(*parsed) != text)
    return fail(ErrorCode::corrupt, "the manifest is not canonical JSON", "bundle.json");
  return parsed;
}

}  // namespace orbit::bundle
