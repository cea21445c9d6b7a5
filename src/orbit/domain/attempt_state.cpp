#include "orbit/domain/attempt_state.hpp"

namespace orbit {

bool is_final(AttemptState state) {
  switch (state) {
    case AttemptState::succeeded:
    case AttemptState::failed:
    case AttemptState::terminated:
    case AttemptState::interrupted:
      return true;
    case AttemptState::submitted:
    case AttemptState::queued:
    case AttemptState::provisioning:
    case AttemptState::starting:
    case AttemptState::running:
    case AttemptState::collecting:
      return false;
  }
  return false;
}

bool may_follow(AttemptState from, AttemptState to) {
  if (is_final(from)) return false;
  if (to == AttemptState::failed || to == AttemptState::terminated || to == AttemptState::interrupted) return true;
  switch (from) {
    case AttemptState::submitted:
      return to == AttemptState::queued;
    case AttemptState::queued:
      return to == AttemptState::provisioning;
    case AttemptState::provisioning:
      return to == AttemptState::starting || to == AttemptState::queued;
    case AttemptState::starting:
      // Straight to collecting: a workload can start and end between two looks.
      return to == AttemptState::running || to == AttemptState::collecting || to == AttemptState::queued;
    case AttemptState::running:
      return to == AttemptState::collecting;
    case AttemptState::collecting:
      return to == AttemptState::succeeded;
    default:
      return false;
  }
}

Blame blame_of(Reason reason) {
  switch (reason) {
    case Reason::completed:
    case Reason::cancelled:
      return Blame::nobody;
    case Reason::precheck_failed:
    case Reason::environment_mismatch:
    case Reason::env_build_failed:
    case Reason::image_pull:
    case Reason::dataset_changed:
    case Reason::start_failed:
    case Reason::exit_nonzero:
    case Reason::killed_by_signal:
    case Reason::gpu_oom:
    case Reason::host_oom:
    case Reason::timeout:
    case Reason::budget_exceeded:
    case Reason::output_missing:
      return Blame::user;
    case Reason::gpu_lost:
    case Reason::xid_error:
    case Reason::disk_full:
    case Reason::collect_failed:
    case Reason::node_lost:
    case Reason::runner_lost:
    case Reason::rental_ended:
    case Reason::controller_error:
      return Blame::platform;
  }
  return Blame::platform;
}

}  // namespace orbit
