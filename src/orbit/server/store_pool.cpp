#include "orbit/server/store_pool.hpp"

namespace orbit::server {

Result<std::shared_ptr<StoreReader>> StorePool::reader() {
  std::unique_ptr<StoreReader> reader;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      reader = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!reader) {
    ORBIT_TRY_ASSIGN(reader, store_.reader());
  }
  return std::shared_ptr<StoreReader>(reader.release(),
                                      [this](StoreReader* used) { give_back(std::unique_ptr<StoreReader>(used)); });
}

void StorePool::give_back(std::unique_ptr<StoreReader> reader) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(reader));
}

}  // namespace orbit::server
