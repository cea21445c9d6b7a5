// The states of an attempt and what may follow what. The full state × state matrix is tests/golden/attempt_states.txt.
//
//   submitted ─► queued ─► provisioning ─► starting ─► running ─► collecting ─► succeeded | failed | terminated |
//   interrupted
//                  ▲            │              │
//                  └────────────┴──────────────┘   (placed on something that went away before the workload started)
//
// Every state that is not final may end in failed, terminated or interrupted; only collecting may end in succeeded.
#pragma once

#include <boost/describe/enum.hpp>

namespace orbit {

enum class AttemptState {
  submitted,     // recorded; nothing decided yet
  queued,        // waits for a place (S6 says why)
  provisioning,  // a place is being made: directory, machine, rental
  starting,      // the bundle is sent and the runner asked to start; prechecks run here
  running,       // the workload is known to have started
  collecting,    // the workload ended; logs and artifacts are brought in and verified
  succeeded,
  failed,
  terminated,   // stopped on request or by a limit
  interrupted,  // it cannot be known how it ended, or the platform took its place away
};
BOOST_DESCRIBE_ENUM(AttemptState, submitted, queued, provisioning, starting, running, collecting, succeeded, failed,
                    terminated, interrupted)

// What is known about reachability. The network moves only this, never the state.
enum class Reachability { live, suspected, unreachable };
BOOST_DESCRIBE_ENUM(Reachability, live, suspected, unreachable)

enum class ArchiveState { none, pending, verified, corrupt };
BOOST_DESCRIBE_ENUM(ArchiveState, none, pending, verified, corrupt)

// What people want of an attempt: beside the state, so that a stop never races with it.
enum class Desired { run, stop };
BOOST_DESCRIBE_ENUM(Desired, run, stop)

// Why an attempt ended; the closed list of R7. `completed` is success's.
enum class Reason {
  completed,
  precheck_failed,
  environment_mismatch,
  env_build_failed,
  image_pull,
  dataset_changed,
  start_failed,
  exit_nonzero,
  killed_by_signal,
  gpu_oom,
  host_oom,
  gpu_lost,
  xid_error,
  disk_full,
  timeout,
  budget_exceeded,
  output_missing,
  collect_failed,
  node_lost,
  runner_lost,
  rental_ended,
  cancelled,
  controller_error,
};
BOOST_DESCRIBE_ENUM(Reason, completed, precheck_failed, environment_mismatch, env_build_failed, image_pull,
                    dataset_changed, start_failed, exit_nonzero, killed_by_signal, gpu_oom, host_oom, gpu_lost,
                    xid_error, disk_full, timeout, budget_exceeded, output_missing, collect_failed, node_lost,
                    runner_lost, rental_ended, cancelled, controller_error)

// Whose failure it is: decides who is told and whether trying again can help.
enum class Blame { nobody, user, platform };
BOOST_DESCRIBE_ENUM(Blame, nobody, user, platform)

bool is_final(AttemptState state);
bool may_follow(AttemptState from, AttemptState to);
Blame blame_of(Reason reason);

}  // namespace orbit
