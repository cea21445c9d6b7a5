// Content by SHA-256. Shared by later servers.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/result.hpp"

namespace orbit {

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual bool has(const Digest& digest) = 0;
  // Durable when it answers; idempotent. `corrupt` when the bytes do not have that digest.
  virtual Result<void> put(const Digest& digest, std::string_view bytes) = 0;
  // Takes the file over (rename) when it lies on the same file system, else copies; the digest is recomputed in any
  // case.
  virtual Result<void> put_file(const Digest& digest, const std::filesystem::path& file) = 0;
  virtual Result<std::string> get(const Digest& digest, std::size_t limit_bytes) = 0;  // verified
  // A path to read from or reflink; never to write. The reader verifies what it copied.
  virtual Result<std::filesystem::path> path(const Digest& digest) = 0;
};

}  // namespace orbit
