#include "orbit/server/local_machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "orbit/base/text.hpp"

namespace orbit::server {
namespace {

// 0 where there is no such directory: no driver, no GPU.
template <class Wanted>
std::int64_t count_below(const std::filesystem::path& directory, Wanted&& wanted) {
  std::int64_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (wanted(it->path().filename().string())) ++count;
  return count;
}

// nvidia0, nvidia1 …, not nvidiactl.
bool is_gpu_device(const std::string& name) {
  constexpr std::string_view prefix = "nvidia";
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         std::all_of(name.begin() + prefix.size(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

LocalMachine look_at_local_machine(const std::filesystem::path& root) {
  LocalMachine out;
  cpu_set_t set;
  // More than 1024 processors do not fit into a set.
  out.cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  out.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  out.gpus = count_below(root / "proc/driver/nvidia/gpus", [](const std::string&) { return true; });
  // Inside containers /proc/driver may be hidden while the devices are there.
  if (out.gpus == 0) out.gpus = count_below(root / "dev", is_gpu_device);
  return out;
}

std::vector<std::string> beyond(const LocalMachine& machine, const Resources& wanted) {
  std::vector<std::string> out;
  const auto has = [](std::int64_t count) { return count == 0 ? std::string("none") : std::to_string(count); };
  if (wanted.gpus > machine.gpus)
    out.push_back(
        fmt::format("{} GPU{}, of which it has {}", wanted.gpus, wanted.gpus == 1 ? "" : "s", has(machine.gpus)));
  if (wanted.cpus && *wanted.cpus > machine.cpus)
    out.push_back(
        fmt::format("{} CPU{}, of which it has {}", *wanted.cpus, *wanted.cpus == 1 ? "" : "s", has(machine.cpus)));
  if (wanted.memory_bytes && *wanted.memory_bytes > machine.memory_bytes)
    out.push_back(fmt::format("{} of memory, of which it has {}", human_bytes(*wanted.memory_bytes),
                              human_bytes(machine.memory_bytes)));
  return out;
}

}  // namespace orbit::server
