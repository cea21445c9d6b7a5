#include "orbit/domain/attempt_state.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "orbit/base/json.hpp"

namespace orbit {
namespace {

template <class E>
std::vector<E> all() {
  std::vector<E> out;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) { out.push_back(d.value); });
  return out;
}

// The full state × state matrix as text: a changed transition is a changed line that a reviewer sees.
std::string matrix() {
  std::string out =
      "# Which state of an attempt may follow which (R6). Rows: from; 'x': allowed; 'F' after the name: final.\n";
  out += fmt::format("{:<16}", "from \\ to");
  for (const AttemptState to : all<AttemptState>()) out += fmt::format(" {:>12}", json::name_of(to));
  out += '\n';
  for (const AttemptState from : all<AttemptState>()) {
    out += fmt::format("{:<16}", std::string(json::name_of(from)) + (is_final(from) ? " F" : ""));
    for (const AttemptState to : all<AttemptState>()) out += fmt::format(" {:>12}", may_follow(from, to) ? "x" : ".");
    out += '\n';
  }
  out += "\n# Whose failure a reason is (R7).\n";
  for (const Reason reason : all<Reason>())
    out += fmt::format("{:<21} {}\n", json::name_of(reason), json::name_of(blame_of(reason)));
  return out;
}

TEST(AttemptState, MatrixIsTheGoldenOne_R6) {
  const std::string path = ORBIT_SOURCE_DIR "/tests/golden/attempt_states.txt";
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  const std::string actual = matrix();
  EXPECT_EQ(golden.str(), actual) << "the table of " << path
                                  << " differs; if the change is meant, replace the file by:\n"
                                  << actual;
}

TEST(AttemptState, FinalsAreFollowedByNothing_R6) {
  std::size_t finals = 0;
  for (const AttemptState from : all<AttemptState>()) {
    if (!is_final(from)) continue;
    ++finals;
    for (const AttemptState to : all<AttemptState>())
      EXPECT_FALSE(may_follow(from, to)) << json::name_of(from) << " -> " << json::name_of(to);
  }
  EXPECT_EQ(finals, 4U);
}

TEST(AttemptState, NothingFollowsItselfAndEverythingCanEnd) {
  for (const AttemptState state : all<AttemptState>()) {
    EXPECT_FALSE(may_follow(state, state)) << json::name_of(state);
    if (is_final(state)) continue;
    for (const AttemptState end : {AttemptState::failed, AttemptState::terminated, AttemptState::interrupted})
      EXPECT_TRUE(may_follow(state, end)) << json::name_of(state);
    EXPECT_EQ(may_follow(state, AttemptState::succeeded), state == AttemptState::collecting) << json::name_of(state);
  }
}

TEST(AttemptState, EveryStateIsReachedFromSubmitted) {
  std::vector<AttemptState> reached{AttemptState::submitted};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const AttemptState to : all<AttemptState>())
      if (may_follow(reached[i], to) && std::find(reached.begin(), reached.end(), to) == reached.end())
        reached.push_back(to);
  EXPECT_EQ(reached.size(), all<AttemptState>().size());
}

TEST(Reason, EveryOneHasABlameAndOnlyGoodOnesHaveNone_R7) {
  for (const Reason reason : all<Reason>()) {
    const Blame blame = blame_of(reason);
    EXPECT_NE(json::name_of(blame), "?") << json::name_of(reason);
    const bool nobody = reason == Reason::completed || reason == Reason::cancelled;
    EXPECT_EQ(blame == Blame::nobody, nobody) << json::name_of(reason);
  }
  // The closed list of R7, and `completed` for success.
  EXPECT_EQ(all<Reason>().size(), 23U);
}

}  // namespace
}  // namespace orbit
