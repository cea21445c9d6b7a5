#include "orbit/decide/world.hpp"

#include "orbit/base/json.hpp"

namespace orbit {
namespace {

// Takes an attempt out of, or puts it into, the indexes that its state says.
void unindex(World& world, const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  if (record.state == AttemptState::submitted) world.submitted.erase(record.seq);
  if (record.state == AttemptState::queued) world.queue.erase(record.seq);
  if (occupies_slot(record.state) && --world.occupied[record.target] == 0) world.occupied.erase(record.target);
  if (is_final(record.state)) world.ended.erase(record.id);
}

void index(World& world, const LiveAttempt& attempt) {
  const Attempt& record = attempt.record;
  if (record.state == AttemptState::submitted) world.submitted[record.seq] = record.id;
  if (record.state == AttemptState::queued) world.queue[record.seq] = record.id;
  if (occupies_slot(record.state)) ++world.occupied[record.target];
  if (is_final(record.state)) world.ended.insert(record.id);
}

void put(World& world, LiveAttempt attempt) {
  const AttemptId id = attempt.record.id;
  if (const auto it = world.attempts.find(id); it != world.attempts.end()) unindex(world, it->second);
  index(world, attempt);
  world.attempts.insert_or_assign(id, std::move(attempt));
}

void erase(World& world, const AttemptId& id) {
  const auto it = world.attempts.find(id);
  if (it == world.attempts.end()) return;
  unindex(world, it->second);
  world.attempts.erase(it);
}

template <class Map>
auto lookup(const Map& map, const typename Map::key_type& key) {
  const auto it = map.find(key);
  return it == map.end() ? std::nullopt : std::optional(it->second);
}

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

}  // namespace

std::string intent_key(const AttemptId& attempt, IntentKind kind, std::int64_t n) {
  std::string key = attempt.str() + "/" + std::string(json::name_of(kind));
  return n == 0 ? key : key + "/" + std::to_string(n);
}

std::string timer_key(const AttemptId& attempt, TimerKind kind) {
  return attempt.str() + "/" + std::string(json::name_of(kind));
}

bool occupies_slot(AttemptState state) {
  return state == AttemptState::provisioning || state == AttemptState::starting || state == AttemptState::running ||
         state == AttemptState::collecting;
}

const Intent* World::open_intent(const AttemptId& id, IntentKind kind) const {
  // Keys begin with the attempt's id: its intents lie next to each other.
  for (auto it = intents.lower_bound(id.str()); it != intents.end() && it->second.attempt == id; ++it)
    if (it->second.kind == kind) return &it->second;
  return nullptr;
}

bool World::has_open_intent(const AttemptId& id) const {
  const auto it = intents.lower_bound(id.str());
  return it != intents.end() && it->second.attempt == id;
}

void apply(World& world, const Change& change, WorldUndo& undo) {
  const auto note_attempt = [&](const AttemptId& id) {
    WorldUndo::Step step;
    step.attempt = id;
    step.old_attempt = lookup(world.attempts, id);
    undo.steps_.push_back(std::move(step));
  };
  const auto note_intent = [&](const std::string& key) {
    WorldUndo::Step step;
    step.intent = key;
    step.old_intent = lookup(world.intents, key);
    undo.steps_.push_back(std::move(step));
  };
  const auto note_timer = [&](const std::string& key) {
    WorldUndo::Step step;
    step.timer = key;
    step.old_timer = lookup(world.timers, key);
    undo.steps_.push_back(std::move(step));
  };
  std::visit(Overloaded{
                 [&](const AddAttempt& c) {
                   note_attempt(c.attempt.id);
                   put(world, LiveAttempt{c.attempt, c.request, c.bundle});
                 },
                 [&](const UpdateAttempt& c) {
                   const auto it = world.attempts.find(c.attempt.id);
                   if (it == world.attempts.end())
                     return;  // over and swept: the store's compare-and-set refuses the change
                   note_attempt(c.attempt.id);
                   LiveAttempt next = it->second;
                   next.record = c.attempt;
                   put(world, std::move(next));
                 },
                 [&](const AddIntent& c) {
                   note_intent(c.intent.key);
                   world.intents.emplace(c.intent.key, c.intent);
                 },
                 [&](const RetryIntent& c) {
                   note_intent(c.intent.key);
                   if (const auto it = world.intents.find(c.intent.key); it != world.intents.end())
                     it->second = c.intent;
                 },
                 [&](const FinishIntent& c) {
                   note_intent(c.key);
                   world.intents.erase(c.key);
                 },
                 [&](const SetTimer& c) {
                   note_timer(c.timer.key);
                   world.timers.insert_or_assign(c.timer.key, c.timer);
                 },
                 [&](const DropTimer& c) {
                   note_timer(c.key);
                   world.timers.erase(c.key);
                 },
                 [](const auto&) {},  // what has no life is not in the world
             },
             change);
}

void WorldUndo::revert(World& world) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!step->attempt.empty()) {
      if (step->old_attempt)
        put(world, std::move(*step->old_attempt));
      else
        erase(world, step->attempt);
    }
    if (!step->intent.empty()) {
      world.intents.erase(step->intent);
      if (step->old_intent) world.intents.emplace(step->intent, std::move(*step->old_intent));
    }
    if (!step->timer.empty()) {
      world.timers.erase(step->timer);
      if (step->old_timer) world.timers.emplace(step->timer, std::move(*step->old_timer));
    }
  }
  steps_.clear();
}

void load(World& world, std::vector<LiveAttempt> attempts, std::vector<Intent> intents, std::vector<Timer> timers) {
  for (LiveAttempt& attempt : attempts) put(world, std::move(attempt));
  for (Intent& intent : intents) world.intents.insert_or_assign(intent.key, intent);
  for (Timer& timer : timers) world.timers.insert_or_assign(timer.key, timer);
}

void sweep(World& world) {
  for (auto it = world.ended.begin(); it != world.ended.end();) {
    const AttemptId id = *it++;
    if (!world.has_open_intent(id)) erase(world, id);
  }
}

}  // namespace orbit
