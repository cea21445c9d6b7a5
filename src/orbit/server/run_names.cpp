#include "orbit/server/run_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace orbit::server {
namespace {

constexpr std::array adjectives = {
    "amber",  "bold",   "brave",  "brief",  "bright", "brisk",  "calm",  "clear",  "clever", "cool",   "crisp",
    "deep",   "eager",  "early",  "fair",   "fast",   "fine",   "firm",  "fleet",  "fond",   "fresh",  "gentle",
    "glad",   "golden", "good",   "grand",  "green",  "happy",  "hardy", "keen",   "kind",   "late",   "light",
    "lively", "lucid",  "lucky",  "mellow", "merry",  "mild",   "neat",  "nimble", "noble",  "plain",  "prime",
    "proud",  "quick",  "quiet",  "rapid",  "ready",  "robust", "rosy",  "sharp",  "silent", "silver", "smart",
    "smooth", "solid",  "steady", "sunny",  "swift",  "tidy",   "vivid", "warm",   "wise"};
constexpr std::array nouns = {
    "aspen",  "badger", "beacon", "birch",   "bison",  "brook", "canyon", "cedar",  "cliff",  "cloud",   "comet",
    "coral",  "crane",  "creek",  "delta",   "dune",   "eagle", "ember",  "falcon", "fern",   "finch",   "fjord",
    "forest", "fox",    "glade",  "grove",   "harbor", "hawk",  "heron",  "hill",   "island", "ivy",     "lake",
    "lark",   "lynx",   "maple",  "marsh",   "meadow", "moon",  "moss",   "oak",    "ocean",  "otter",   "owl",
    "pearl",  "pine",   "planet", "prairie", "raven",  "reef",  "ridge",  "river",  "robin",  "sparrow", "spruce",
    "star",   "stone",  "summit", "swan",    "thrush", "tiger", "valley", "willow", "wren"};
constexpr std::size_t max_prefix = 36;  // project; 63 characters hold the longest words and ten digits beside it

}  // namespace

std::string generate_run_name(const std::string& project, Rng& rng, int tries_before) {
  std::array<std::uint8_t, 10> random{};
  rng.fill(random);
  std::uint64_t number = 0;
  for (std::size_t i = 2; i < random.size(); ++i) number = number << 8 | random[i];
  const int digits = std::clamp(2 + tries_before / 2, 2, 8);
  std::uint64_t below = 1;
  for (int i = 0; i < digits; ++i) below *= 10;
  return fmt::format("{}-{}-{}-{:0{}}", project.substr(0, max_prefix), adjectives[random[0] % adjectives.size()],
                     nouns[random[1] % nouns.size()], number % below, digits);
}

}  // namespace orbit::server
