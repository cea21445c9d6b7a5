// The life of an attempt as decisions: what people ask, what was observed, what an intent came to, what time brings.
// Each answers with durable changes, among them the intents that are carried out after the commit. Pure: the same
// world, input and time give the same answer.
#pragma once

#include <optional>
#include <string>

#include "orbit/base/result.hpp"
#include "orbit/decide/conclusion.hpp"
#include "orbit/decide/world.hpp"
#include "orbit/domain/change.hpp"

namespace orbit::decide {

// Actor of what Orbit decides by itself.
inline constexpr const char* reconciler = "orbit";

// What people ask
// --------------------------------------------------------------------------------------------------------------

// A new run and its first attempt.
Effects submit(const Run& run, const AttemptId& attempt, Now now);

// A further attempt of a run that exists; `number` is the last one's + 1. With `resume`: from that checkpoint.
struct NewAttempt {
  AttemptId id;
  std::int32_t number = 2;
  std::string target;
  std::optional<ResumeFrom> resume;
  std::string actor;
};
// Refused (conflict) while an attempt of the run still lives.
Result<Effects> add_attempt(const World& world, const Run& run, const NewAttempt& request, Now now);

// Sets the desired state; refused (conflict) when the attempt is over or already collecting. Asking twice is fine and
// changes nothing.
Result<Effects> request_stop(const World& world, const AttemptId& attempt, const std::string& actor, Now now);

// What was observed
// -----------------------------------------------------------------------------------------------------------

// As a placement saw it (ports/placement.hpp), without the port.
struct Sight {
  std::int64_t epoch = 0;
  bool started = false;      // a runner journal exists
  bool runner_dead = false;  // known to be dead; false: alive or unknown
  std::vector<JournalRecord> journal;
  std::optional<RunnerResult> result;
};
// `restarts_without_news`: how often a runner was started for this attempt since its journal last grew (kept by the
// caller, in memory).
Effects observed(const World& world, const AttemptId& attempt, const Sight& sight, std::int32_t restarts_without_news,
                 Now now);
// The place could not be looked at `failures` times in a row: moves reachability only (R6).
Effects not_observed(const World& world, const AttemptId& attempt, std::int32_t failures, const Error& error, Now now);
// The place is gone for certain.
Effects place_gone(const World& world, const AttemptId& attempt, const std::string& evidence, Now now);

// Points read from the attempt's metrics file.
Effects metrics(const AttemptId& attempt, std::int64_t from_offset, std::int64_t to_offset,
                std::vector<MetricPoint> points);

// What an intent came to
// ------------------------------------------------------------------------------------------------------

struct Outcome {
  std::string handle;                  // provision
  std::optional<Collected> collected;  // collect
};
Effects intent_done(const World& world, const Intent& intent, const Outcome& outcome, Now now);
Effects intent_failed(const World& world, const Intent& intent, const Error& error, Now now);

// What time brings
// ------------------------------------------------------------------------------------------------------------

// Looks at what is true now and decides what follows: accepts, admits from the queue, acts on due timers. Called after
// every batch and on every tick; answers nothing when there is nothing to do. One step: called again until it is empty.
Effects reconcile(const World& world, Now now);

// Why an attempt that waits does so: a sentence (S6). Empty when it does not wait.
std::string waits_for(const World& world, const LiveAttempt& attempt);

}  // namespace orbit::decide
