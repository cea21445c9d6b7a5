// Byte streams of attempts on the control plane.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/domain/ids.hpp"
#include "orbit/domain/runtime_files.hpp"

namespace orbit {

class LogStore {
 public:
  virtual ~LogStore() = default;
  // Appends at `offset`, which must be the stream's size, or below it when the bytes there are the same (a repeated
  // delivery); `conflict` otherwise. Durable after sync().
  virtual Result<void> append(const AttemptId& attempt, Stream stream, std::int64_t offset, std::string_view bytes) = 0;
  virtual Result<void> sync(const AttemptId& attempt) = 0;
  virtual Result<std::int64_t> size(const AttemptId& attempt, Stream stream) = 0;
  virtual Result<std::string> read(const AttemptId& attempt, Stream stream, std::int64_t offset,
                                   std::size_t max_bytes) = 0;
};

}  // namespace orbit
