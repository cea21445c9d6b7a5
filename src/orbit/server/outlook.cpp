#include "orbit/server/outlook.hpp"

#include <vector>

#include "orbit/base/text.hpp"
#include "orbit/server/local_machine.hpp"

namespace orbit::server {

Result<std::string> placement_outlook(const ExecutionRequest& request, const EnvironmentProfile& environment,
                                      control::Writer& writer) {
  const std::string target = request.values.target.value_or("");
  if (request.placement == PlacementKind::local) {
    const std::vector<std::string> lacking = beyond(look_at_local_machine(), request.values.resources);
    if (!lacking.empty())
      return fmt::format("could never start on the server's own machine: asked for are {}", join(lacking, "; "));
  }
  const std::string place = target.empty() ? "the server's own machine" : fmt::format("'{}'", target);
  // What is installed there is the runner's to find out.
  const std::string then = environment.any ? "" : "; whether it has the environment is checked there before the start";
  std::int32_t taken = 0;
  std::int32_t slots = 0;
  std::int64_t waiting = 0;
  ORBIT_TRY(writer.inspect([&](const World& world) {
    slots = world.policy.local_slots;
    if (const auto it = world.occupied.find(target); it != world.occupied.end()) taken = it->second;
    for (const auto& [seq, id] : world.queue)
      if (const LiveAttempt* live = world.find(id); live != nullptr && live->record.target == target) ++waiting;
    for (const auto& [seq, id] : world.submitted)
      if (const LiveAttempt* live = world.find(id); live != nullptr && live->record.target == target) ++waiting;
  }));
  if (taken + waiting < slots)
    return fmt::format("would start at once on {} ({} of {} slots taken){}", place, taken, slots, then);
  return fmt::format("would wait for a slot on {}: {} of {} are taken, {} waiting in front{}", place, taken, slots,
                     waiting, then);
}

}  // namespace orbit::server
