// The circle: decide on an overlay, commit one transaction, merge into memory only after the commit, then publish and
// carry intents out. No threads, no Asio: the server's writer thread drives it, and so does the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

  // Takes leadership, loads what lives. Afterwards process({}) reconciles.
  Result<void> start();

  // Decides the commands in order, reconciles, commits once. One answer a command: success means durable. A batch
  // refused as a conflict is retried command by command, so that one bad command spoils no other. When the store cannot
  // be written every answer is that error and nothing changed; when it may have been written, the answers say so and
  // the next call finds out first.
  std::vector<Result<void>> process(const std::vector<Command>& commands);

  // Events committed since the last call, in order.
  std::vector<Event> take_events();
  // Intents that are due; each is handed out once per try in the life of this process. A place is not given back while
  // a stop is still open.
  std::vector<Intent> take_due_intents();
  // What became of that intent could not be recorded: it is handed out again, after a pause. Carrying out twice does no
  // harm, forgetting does.
  void hand_out_again(const Intent& intent);
  // Milliseconds until an intent or timer is due, 0 when one is; nothing when none waits.
  std::optional<std::int64_t> next_due_in_ms() const;

  const World& world() const { return world_; }
  std::int64_t leader_epoch() const { return epoch_; }
  // True once a commit was refused because somebody else leads: this process must end.
  bool deposed() const { return deposed_; }

 private:
  Now now() const;
  std::vector<Result<void>> process_batch(const std::vector<const Command*>& commands, bool may_split);
  void number(Effects& effects);
  void recorded(const std::vector<Change>& changes, std::vector<Event> events);
  Result<void> settle();

  Store& store_;
  Clock& clock_;
  Rng& rng_;
  World world_;
  Now anchor_;  // where `steady` begins
  std::int64_t epoch_ = 0;
  std::int64_t event_seq_ = 0;
  std::int64_t run_seq_ = 0;
  std::int64_t attempt_seq_ = 0;
  bool deposed_ = false;
  std::vector<Event> events_;
  // A batch of which not even committed() could tell whether it is recorded. Nothing else is decided until that is
  // known: memory would part from the record.
  struct Unsettled {
    Batch batch;
    std::int64_t event_seq = 0;
    std::int64_t run_seq = 0;
    std::int64_t attempt_seq = 0;
  };
  std::optional<Unsettled> unsettled_;
  struct HandedOut {
    std::int32_t tries = 0;            // the try it was handed out for
    std::optional<WallTime> again_at;  // steady
  };
  bool is_out(const Intent& intent, WallTime steady) const;
  std::map<std::string, HandedOut> handed_out_;  // by intent key
};

}  // namespace orbit::control
