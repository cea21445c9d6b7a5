#include "orbit/runner/words.hpp"

#include <fmt/format.h>

#include "orbit/base/json.hpp"
#include "orbit/base/text.hpp"

namespace orbit::runner {

std::string in_words(const JournalRecord& record) {
  const std::string detail = record.detail.value_or("");
  const std::string pid = record.process ? std::to_string(record.process->pid) : "unknown";
  switch (record.kind) {
    case JournalKind::runner_started:
      return fmt::format("runner {} started{}", pid, detail.empty() ? "" : ", the attempt is " + detail);
    case JournalKind::precheck_passed:
      return "prechecks passed";
    case JournalKind::precheck_failed:
      return fmt::format("not started ({}): {}", record.reason ? json::name_of(*record.reason) : "unknown", detail);
    case JournalKind::workload_launching:
      return "starting the workload";
    case JournalKind::workload_started:
      return fmt::format("workload started, process {}", pid);
    case JournalKind::checkpoint:
      return record.checkpoint ? fmt::format("checkpoint {} is complete: {}, {} bytes", record.checkpoint->path,
                                             counted(record.checkpoint->files, "file"), record.checkpoint->size_bytes)
                               : "a checkpoint is complete";
    case JournalKind::stop_requested:
      return record.reason == Reason::timeout ? "the time limit is reached" : "stop asked for by " + detail;
    case JournalKind::signalled:
      return fmt::format("ending the workload with signal {}", record.signal.value_or(0));
    case JournalKind::workload_ended:
      if (record.exit_code) return fmt::format("workload ended with exit code {}", *record.exit_code);
      if (record.signal) return fmt::format("workload ended by signal {}", *record.signal);
      return "workload ended: " + detail;
    case JournalKind::leftovers_ended:
      return "leftovers ended: " + detail;
    case JournalKind::collected:
      return "collected: " + detail;
    case JournalKind::finished:
      return "finished";
  }
  return detail;
}

}  // namespace orbit::runner
