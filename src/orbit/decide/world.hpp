// What lives, in memory: the snapshot every decision is made from. Everything ended lives only in the store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "orbit/base/time.hpp"
#include "orbit/domain/change.hpp"
#include "orbit/domain/records.hpp"

namespace orbit {

// Configured limits the decisions obey.
struct Policy {
  std::int32_t local_slots = 2;         // attempts that run at a time on the server's own machine
  std::int64_t start_deadline_s = 120;  // from "starting" until the runner wrote its first record
  std::int64_t retry_first_ms = 500;    // back-off of failed intents: doubles up to retry_max_ms
  std::int64_t retry_max_ms = 30'000;
  std::int32_t max_tries = 8;                 // of an intent whose failure does not look permanent
  std::int32_t max_runner_restarts = 5;       // adoptions in a row without a new journal record
  std::int64_t lost_deadline_s = 30;          // a place whose runtime files are gone is given up after this
  std::int32_t corrupt_after_failures = 50;   // looks in a row that found what cannot be read: given up
  std::int32_t suspected_after_failures = 3;  // observations in a row that could not be made
  std::int32_t unreachable_after_failures = 10;
};

struct LiveAttempt {
  Attempt record;
  ExecutionRequest request;
  Digest bundle;
};

struct World {
  Policy policy;
  std::unordered_map<AttemptId, LiveAttempt> attempts;
  std::map<std::string, Intent> intents;  // open ones, by key
  std::map<std::string, Timer> timers;    // by key

  // Indexes over `attempts`, kept by apply().
  std::map<std::int64_t, AttemptId> submitted;   // by attempt seq
  std::map<std::int64_t, AttemptId> queue;       // by attempt seq: the order of the queue
  std::map<std::string, std::int32_t> occupied;  // slots in use by target; "" is the server's own machine
  std::set<AttemptId> ended;                     // final, not yet swept

  const LiveAttempt* find(const AttemptId& id) const {
    const auto it = attempts.find(id);
    return it == attempts.end() ? nullptr : &it->second;
  }
  const Intent* open_intent(const AttemptId& id, IntentKind kind) const;  // nullptr: none
  bool has_open_intent(const AttemptId& id) const;
};

// The key of an intent; `n` tells repeated decisions of one kind apart (0 where there can be only one).
std::string intent_key(const AttemptId& attempt, IntentKind kind, std::int64_t n = 0);
std::string timer_key(const AttemptId& attempt, TimerKind kind);

// An attempt in one of these states holds a slot of its target.
bool occupies_slot(AttemptState state);

// What apply() replaced, so that a batch that could not be committed can be undone.
class WorldUndo {
 public:
  void revert(World& world);

 private:
  friend void apply(World&, const Change&, WorldUndo&);
  struct Step {
    AttemptId attempt;  // these three: empty when the step is not about one
    std::string intent;
    std::string timer;
    std::optional<LiveAttempt> old_attempt;  // absent: it did not exist
    std::optional<Intent> old_intent;
    std::optional<Timer> old_timer;
  };
  std::vector<Step> steps_;
};

// Brings the world to what it is after `change`.
void apply(World& world, const Change& change, WorldUndo& undo);
// What a store had: the world at start. Throws nothing, checks nothing: the store did.
void load(World& world, std::vector<LiveAttempt> attempts, std::vector<Intent> intents, std::vector<Timer> timers);
// Forgets attempts that are final and have no open intent. To be called after a commit, when nothing can be undone any
// more.
void sweep(World& world);

}  // namespace orbit
