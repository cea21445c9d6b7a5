#include "orbit/control/writer.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "orbit/base/log.hpp"

namespace orbit::control {
namespace {

constexpr std::size_t max_batch = 512;       // commands in one transaction
constexpr std::size_t max_waiting = 16'384;  // commands that wait; further ones are refused as unavailable
constexpr std::int64_t max_sleep_ms = 60'000;

Failure stopping() {
  return fail(ErrorCode::unavailable, "the server is shutting down");
}

}  // namespace

struct Writer::State {
  struct Item {
    Engine::Command command;
    std::function<void(Result<void>)> done;
  };

  Engine& engine;
  Carry carry;
  Publish publish;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Item> waiting;
  bool stop = false;
  bool running = false;
  std::atomic<bool> deposed{false};
  std::thread thread;

  State(Engine& e, Carry c, Publish p) : engine(e), carry(std::move(c)), publish(std::move(p)) {}

  // Nothing when it is queued; `done` is then called on the writer's thread.
  std::optional<Failure> enqueue(Engine::Command command, std::function<void(Result<void>)> done, std::size_t limit) {
    {
      const std::lock_guard lock(mutex);
      if (!running) return stopping();
      if (waiting.size() >= limit)
        return fail(ErrorCode::unavailable, "too many changes wait to be recorded", {}, "try again in a moment");
      waiting.push_back({std::move(command), std::move(done)});
    }
    wake.notify_one();
    return std::nullopt;
  }

  void after_batch() {
    if (std::vector<Event> events = engine.take_events(); !events.empty() && publish) publish(events);
    for (const Intent& intent : engine.take_due_intents())
      if (const LiveAttempt* attempt = engine.world().find(intent.attempt)) carry(intent, *attempt);
  }

  void loop() {
    for (;;) {
      std::vector<Item> batch;
      {
        const std::int64_t sleep_ms = std::min(engine.next_due_in_ms().value_or(max_sleep_ms), max_sleep_ms);
        std::unique_lock lock(mutex);
        wake.wait_for(lock, std::chrono::milliseconds(sleep_ms), [&] { return stop || !waiting.empty(); });
        if (stop && waiting.empty()) return;
        const std::size_t count = std::min(waiting.size(), max_batch);
        batch.assign(std::make_move_iterator(waiting.begin()),
                     std::make_move_iterator(waiting.begin() + static_cast<std::ptrdiff_t>(count)));
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
      }
      std::vector<Engine::Command> commands;
      commands.reserve(batch.size());
      for (Item& item : batch) commands.push_back(std::move(item.command));
      std::vector<Result<void>> answers = engine.process(commands);
      if (engine.deposed()) deposed = true;
      after_batch();  // before the answers: whoever waits for one then finds its events published
      for (std::size_t i = 0; i < batch.size(); ++i)
        if (batch[i].done) batch[i].done(std::move(answers[i]));
    }
  }
};

Writer::Writer(Engine& engine, Carry carry, Publish publish)
    : state_(std::make_unique<State>(engine, std::move(carry), std::move(publish))) {}

Writer::~Writer() {
  stop();
}

void Writer::start() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->running = true;
  }
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
  post([](const World&, Now) { return Effects{}; });  // reconciles what was loaded and hands out open intents
}

void Writer::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->running = false;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

void Writer::post(Engine::Command command, std::function<void(Result<void>)> done) {
  std::optional<Failure> refused = state_->enqueue(std::move(command), done, max_waiting);
  if (refused && done) done(std::move(*refused));
}

Result<void> Writer::run(Engine::Command command) {
  // Shared: the waiting thread may return, and destroy it, before set_value() does.
  auto promise = std::make_shared<std::promise<Result<void>>>();
  std::future<Result<void>> answer = promise->get_future();
  post(std::move(command), [promise](Result<void> result) { promise->set_value(std::move(result)); });
  return answer.get();
}

void Writer::post_outcome(const Intent& intent, Result<decide::Outcome> outcome) {
  // Never refused for want of room: there are no more of them than living attempts. Refused while stopping: the next
  // process carries out again.
  (void)state_->enqueue(
      [intent, outcome = std::move(outcome)](const World& world, Now now) -> Result<Effects> {
        return outcome ? decide::intent_done(world, intent, *outcome, now)
                       : decide::intent_failed(world, intent, outcome.error(), now);
      },
      [state = state_.get(), intent](const Result<void>& recorded) {
        if (!recorded) state->engine.hand_out_again(intent);
      },
      std::numeric_limits<std::size_t>::max());
}

bool Writer::deposed() const {
  return state_->deposed;
}

Result<void> Writer::inspect(const std::function<void(const World&)>& look) {
  return run([&look](const World& world, Now) -> Result<Effects> {
    look(world);
    return Effects{};
  });
}

}  // namespace orbit::control
