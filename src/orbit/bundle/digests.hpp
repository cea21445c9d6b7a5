// Digests of many files at once, and of files that may be changing. Internal to bundle/.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "orbit/base/digest.hpp"
#include "orbit/base/result.hpp"

namespace orbit::bundle {

struct Measured {
  Digest sha256;
  std::int64_t size_bytes = 0;
  mode_t mode = 0;  // permission bits
};
// Size, mode and digest of one moment: `conflict` when the file changed while it was read. Never reads more than the
// size seen first.
Result<Measured> measure(int fd, const std::string& shown);

// Calls work(0) … work(count - 1) on up to two threads. The error of the lowest index is returned; after an error no
// new work begins.
Result<void> for_each_of(std::size_t count, const std::function<Result<void>(std::size_t)>& work);

}  // namespace orbit::bundle
