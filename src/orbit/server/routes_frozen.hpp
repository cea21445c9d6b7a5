// What was frozen of runs and is asked for again and again: params as they were typed, manifests of artifacts.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "orbit/base/digest.hpp"
#include "orbit/base/result.hpp"
#include "orbit/domain/runtime_files.hpp"
#include "orbit/ports/blob_store.hpp"

namespace orbit::server {

// What a bundle froze never changes: read once, kept while there is room. Thread-safe.
class FrozenParams {
 public:
  // Key -> JSON source text; nothing when the bundle cannot be read.
  std::optional<std::map<std::string, std::string>> of(BlobStore& blobs, const Digest& bundle);

 private:
  std::mutex mutex_;
  std::unordered_map<Digest, std::map<std::string, std::string>> known_;
};

// The manifests of artifacts used last, parsed: somebody who fetches every artifact of an attempt has its manifest read
// once. Thread-safe.
class ArtifactManifests {
 public:
  // Sorted by path.
  Result<std::shared_ptr<const ArtifactManifest>> of(BlobStore& blobs, const Digest& digest);

 private:
  struct Known {
    Digest digest;
    std::shared_ptr<const ArtifactManifest> manifest;
  };
  std::mutex mutex_;
  std::list<Known> known_;  // the one used last is in front
};

}  // namespace orbit::server
