// The one writer: commands queue up; all that wait are decided as one batch and committed together.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/control/engine.hpp"
#include "orbit/decide/lifecycle.hpp"

namespace orbit::control {

// Thread-safe front of an Engine, which runs on a thread of its own.
class Writer {
 public:
  // Takes an intent that became due, with its attempt as it is now, to be carried out somewhere else; called on the
  // writer's thread, must not block.
  using Carry = std::function<void(const Intent&, const LiveAttempt&)>;
  // Told after each commit, in order, on the writer's thread; must not block.
  using Publish = std::function<void(const std::vector<Event>&)>;

  Writer(Engine& engine, Carry carry, Publish publish);
  ~Writer();  // stop()

  void start();
  void stop();  // commits what is queued, then ends the thread; later commands are refused as unavailable

  // Decides and commits; returns when it is durable, or with the error (then nothing happened).
  Result<void> run(Engine::Command command);
  // The same without waiting.
  void post(Engine::Command command, std::function<void(Result<void>)> done = {});

  // Posts what an intent came to. If that cannot be recorded the intent is handed out again.
  void post_outcome(const Intent& intent, Result<decide::Outcome> outcome);

  // Somebody else took the lead: nothing can be recorded here any more, the process must end.
  bool deposed() const;

  // A copy of something from the world, read on the writer's thread.
  Result<void> inspect(const std::function<void(const World&)>& look);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orbit::control
