// Byte streams of attempts as files.
//
//   logs/                      0700
//     <attempt>/               0700
//       stdout.log             0600, bytes as they came
//       stderr.log
//       execution.log
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "orbit/ports/log_store.hpp"

namespace orbit::store {

struct LogStoreOptions {
  std::size_t max_open_files = 64;  // least recently used ones are synced and closed
};

// One per root at a time. Thread-safe: streams do not wait for each other.
Result<std::unique_ptr<LogStore>> open_file_log_store(const std::filesystem::path& root,
                                                      const LogStoreOptions& options = {});

}  // namespace orbit::store
