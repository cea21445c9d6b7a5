// Virtual time: things that will happen, in order. Same seed, same run.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "orbit/ports/clock.hpp"
#include "orbit/ports/rng.hpp"

namespace orbit::sim {

class Schedule : public Clock, public Rng {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {}

  Now now() const override { return {WallTime{start_ms + time_ms_ + wall_step_ms_}, MonoTime{time_ms_}, {}}; }
  void fill(std::span<std::uint8_t> bytes) override {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
  }

  void after(std::int64_t ms, std::function<void()> what) { events_.push({time_ms_ + ms, ++order_, std::move(what)}); }
  // Runs the next event; false when there is none before `until_ms`.
  bool step(std::int64_t until_ms) {
    if (events_.empty() || events_.top().at > until_ms) return false;
    const Item item = events_.top();
    events_.pop();
    time_ms_ = item.at;
    item.what();
    return true;
  }
  std::int64_t time_ms() const { return time_ms_; }
  // Somebody sets the machine's clock.
  void step_wall_clock(std::int64_t ms) { wall_step_ms_ += ms; }

  // Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return static_cast<double>(random_() >> 11) * 0x1.0p-53 < probability; }

 private:
  static constexpr std::int64_t start_ms = 1'790'000'000'000;
  struct Item {
    std::int64_t at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Item& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  std::priority_queue<Item> events_;
  std::uint64_t order_ = 0;
  std::int64_t time_ms_ = 0;
  std::int64_t wall_step_ms_ = 0;
  std::mt19937_64 random_;
};

}  // namespace orbit::sim
