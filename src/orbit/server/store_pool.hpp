// Connections for reading, lent one user at a time and kept open in between.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "orbit/ports/store.hpp"

namespace orbit::server {

// A connection for as long as the pointer lives; afterwards it goes back to whoever lent it.
using ReaderSource = std::function<Result<std::shared_ptr<StoreReader>>()>;

// Thread-safe. Must outlive what it lends.
class StorePool {
 public:
  explicit StorePool(Store& store, std::size_t max_idle = 8) : store_(store), max_idle_(max_idle) {}

  // Goes back to the pool with the last copy of the pointer.
  Result<std::shared_ptr<StoreReader>> reader();
  ReaderSource source() {
    return [this] { return reader(); };
  }

 private:
  void give_back(std::unique_ptr<StoreReader> reader);

  Store& store_;
  const std::size_t max_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StoreReader>> idle_;
};

}  // namespace orbit::server
