#include "orbit/platform/fault_hook.hpp"

#include <atomic>
#include <cerrno>

#include "orbit/platform/files.hpp"

namespace orbit::platform {
namespace {

std::atomic<bool> hook_set{false};
FaultHook fault_hook;

}  // namespace

void set_fault_hook(FaultHook hook) {
  hook_set.store(false, std::memory_order_release);
  fault_hook = std::move(hook);
  hook_set.store(static_cast<bool>(fault_hook), std::memory_order_release);
}

bool injected(std::string_view operation, const std::filesystem::path& path) {
  if (!hook_set.load(std::memory_order_acquire)) return false;
  const int error = fault_hook(operation, path.string());
  if (error == 0) return false;
  errno = error;
  return true;
}

}  // namespace orbit::platform
