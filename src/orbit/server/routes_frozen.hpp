// Params of runs as they were typed and frozen in job.json, for showing them.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "orbit/base/digest.hpp"
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

}  // namespace orbit::server
