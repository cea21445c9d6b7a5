// The circle: decide on an overlay, commit one transaction, merge into memory only after the commit, then publish and carry intents out. No
// threads, no Asio: the server's writer thread drives it, and so does the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/decide/world.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"
#include "orbit/ports/store.hpp"

namespace orbit::control {

class Engine {
 public:
  // A decision on the world as the commands before it in the batch left it.
  using Command = std::function<Result<Effects>(const World&, Now)>;

  Engine(Store& store, Clock& clock, Rng& rng, Policy policy);

  // Takes leadership, loads what lives. Afterwards process() with no commands reconciles.
  Result<void> start();

  // Decides the commands in order, reconciles, commits. One answer a command: success means durable. A batch that fails with a conflict is
  // retried singly, so that one bad command spoils no other. Fails as a whole (every answer) when the store cannot be written.
  std::vector<Result<void>> process(const std::vector<Command>& commands);

  // Events committed since the last call, in order.
  std::vector<Event> take_events();
  // Intents that are due and not handed out since they were last changed; each is handed out once a life of this process per try.
  std::vector<Intent> take_due_intents();
  // The next instant something is due (intent back-off or timer); nothing when there is none.
  std::optional<WallTime> next_due() const;

  const World& world() const { return world_; }
  std::int64_t leader_epoch() const { return epoch_; }
  // True once a commit was refused because somebody else leads: this process must end.
  bool deposed() const { return deposed_; }

 private:
  struct Attempted {
    std::vector<Result<void>> answers;
    bool conflict = false;
  };
  Attempted try_batch(const std::vector<const Command*>& commands, Now now);
  void number(Effects& effects);

  Store& store_;
  Clock& clock_;
  Rng& rng_;
  World world_;
  std::int64_t epoch_ = 0;
  std::int64_t event_seq_ = 0;
  std::int64_t run_seq_ = 0;
  std::int64_t attempt_seq_ = 0;
  bool deposed_ = false;
  std::vector<Event> events_;
  std::map<std::string, std::int32_t> handed_out_;  // intent key -> tries it was handed out with
};

}  // namespace orbit::control
