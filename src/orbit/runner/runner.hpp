// `orbit runner DIR`: carries the bundle in DIR from its prechecks to its result, detached from whoever started it
// (R10). Everything it knows and everything it finds out is in the directory: domain/runtime_files.hpp. Beside what is
// named there it keeps in runtime/
//
//   workload.json  launch/keeper.hpp: who the entry and its keeper are, before the entry may start
//   exit.json      launch/keeper.hpp: how the entry ended, by the keeper
//   params.json    the parameters, for the entry (ORBIT_PARAMS_FILE)
//   audit.jsonl    AuditSample every 15 s: what the workload used
//
// Killed at any moment and started again it goes on where it was; the workload never notices. SIGINT is a stop order,
// SIGTERM makes it leave as if it had been killed: the workload lives on and the next runner adopts it.
#pragma once

#include <filesystem>

namespace orbit::runner {

// The exit code: 0 when a result is recorded or another runner has the lock, 1 otherwise.
int run_main(const std::filesystem::path& directory);

}  // namespace orbit::runner
