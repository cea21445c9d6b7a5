#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "play.hpp"

namespace orbit {
namespace {

TEST(Lifecycle, AWholeLifeInOrder) {
  Play play;
  const AttemptId id = play.submit();
  EXPECT_EQ(play.state(id), AttemptState::provisioning);  // accepted and admitted at once: a slot was free
  play.running(id);
  EXPECT_EQ(play.state(id), AttemptState::running);
  play.ended(id, play.result(id));
  EXPECT_EQ(play.state(id), AttemptState::collecting);
  play.done(id, IntentKind::collect, {"", decide::Collected{Sha256::of("m"), 3, 100, {}, 0}});
  EXPECT_EQ(play.state(id), AttemptState::succeeded);
  EXPECT_EQ(play.records.at(id).artifact_count, 3);
  EXPECT_NE(play.world.find(id), nullptr);  // its place is still to be given back
  play.done(id, IntentKind::release);
  EXPECT_EQ(play.world.find(id), nullptr);
  EXPECT_TRUE(play.world.intents.empty());
  EXPECT_TRUE(play.world.timers.empty());
  EXPECT_TRUE(play.world.occupied.empty());
}

TEST(Lifecycle, SlotsAreGivenInOrderOfSubmission) {
  Play play;
  play.world.policy.local_slots = 1;
  const AttemptId a = play.submit();
  const AttemptId b = play.submit();
  const AttemptId c = play.submit();
  EXPECT_EQ(play.state(b), AttemptState::queued);
  EXPECT_EQ(decide::waits_for(play.world, *play.world.find(c)),
            "waits for a slot: 1 of 1 on this machine in use, 1 ahead of it");
  play.failed(a, IntentKind::provision, ErrorCode::unsupported);
  EXPECT_EQ(play.state(a), AttemptState::failed);
  EXPECT_EQ(play.state(b), AttemptState::provisioning);
  EXPECT_EQ(play.state(c), AttemptState::queued);
}

TEST(Lifecycle, StopWhileQueuedEndsAtOnceAndStartsNothing) {
  Play play;
  play.world.policy.local_slots = 0;
  const AttemptId id = play.submit();
  play.take(decide::request_stop(play.world, id, "bob", play.now()).value());
  EXPECT_EQ(play.state(id), AttemptState::terminated);
  EXPECT_EQ(play.records.at(id).reason, Reason::cancelled);
  EXPECT_TRUE(play.world.intents.empty());
  EXPECT_EQ(decide::request_stop(play.world, id, "bob", play.now()).error().code, ErrorCode::conflict);
}

TEST(Lifecycle, StopWhileThePlaceIsBeingMadeEndsWhenItIsThereAndGivesItBack) {
  Play play;
  const AttemptId id = play.submit();
  play.take(decide::request_stop(play.world, id, "bob", play.now()).value());
  EXPECT_EQ(play.state(id), AttemptState::provisioning);
  play.done(id, IntentKind::provision, {"handle", std::nullopt});
  EXPECT_EQ(play.state(id), AttemptState::terminated);
  EXPECT_EQ(play.world.open_intent(id, IntentKind::start), nullptr);
  EXPECT_NE(play.world.open_intent(id, IntentKind::release), nullptr);
}

TEST(Lifecycle, StopTwiceIsOneStop) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  play.take(decide::request_stop(play.world, id, "bob", play.now()).value());
  EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);
  EXPECT_TRUE(decide::request_stop(play.world, id, "bob", play.now()).value().empty());
}

TEST(Lifecycle, ReportsOfAnOutdatedEpochChangeNothing) {  // R9
  Play play;
  const AttemptId id = play.submit();
  play.started(id);
  decide::Sight sight;
  sight.epoch = 99;
  sight.journal = {play.record(1, JournalKind::workload_started)};
  play.see(id, sight);
  EXPECT_EQ(play.state(id), AttemptState::starting);
  EXPECT_EQ(play.records.at(id).journal_seq, 0);
}

TEST(Lifecycle, AResultOfAnotherAttemptIsNotBelieved) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  RunnerResult result = play.result(id);
  result.attempt = AttemptId::make(WallTime{77}, {});
  play.ended(id, result);
  EXPECT_FALSE(play.records.at(id).result);
  EXPECT_TRUE(play.has_event(EventKind::attempt_late_evidence));
}

TEST(Lifecycle, RepeatedJournalRecordsAreActedOnOnce) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  const auto events = play.events.size();
  decide::Sight sight;
  sight.journal = {play.record(1, JournalKind::runner_started), play.record(2, JournalKind::workload_started)};
  play.see(id, sight);
  EXPECT_EQ(play.events.size(), events);
}

TEST(Lifecycle, ARunnerThatTookOverIsPartOfTheStory) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  decide::Sight sight;
  JournalRecord adopted = play.record(play.records.at(id).journal_seq + 1, JournalKind::runner_started);
  adopted.detail = "adopted";
  sight.journal = {adopted};
  play.see(id, sight);
  EXPECT_EQ(play.events.back().kind, EventKind::attempt_adopted);
  EXPECT_EQ(play.state(id), AttemptState::running);
}

TEST(Lifecycle, AWorkloadThatEndedBetweenTwoLooksGoesStraightToCollecting) {
  Play play;
  const AttemptId id = play.submit();
  play.started(id);
  decide::Sight sight;
  sight.result = play.result(id);
  play.see(id, sight);
  EXPECT_EQ(play.state(id), AttemptState::collecting);
  EXPECT_NE(play.world.open_intent(id, IntentKind::collect), nullptr);
}

TEST(Lifecycle, ADeadRunnerIsReplacedByOneThatAdopts) {  // R10
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  decide::Sight dead;
  dead.runner_dead = true;
  play.see(id, dead);
  EXPECT_NE(play.world.open_intent(id, IntentKind::start), nullptr);
  play.see(id, dead);  // seen again before it is carried out: no second one
  EXPECT_EQ(play.world.intents.size(), 1U);
  play.done(id, IntentKind::start);
  EXPECT_EQ(play.state(id), AttemptState::running);
  EXPECT_TRUE(play.world.timers.empty());
}

TEST(Lifecycle, ARunnerThatDiesAgainAndAgainEndsTheAttemptAsInterruptedNeverAsSuccess) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  decide::Sight dead;
  dead.runner_dead = true;
  play.see(id, dead, play.world.policy.max_runner_restarts);
  EXPECT_EQ(play.state(id), AttemptState::interrupted);
  EXPECT_EQ(play.records.at(id).reason, Reason::runner_lost);
  EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);  // whatever still runs there must end
}

TEST(Lifecycle, ARunnerThatNeverSpeaksFailsTheStart) {
  Play play;
  const AttemptId id = play.submit();
  play.started(id);
  play.pass(play.world.policy.start_deadline_s * 1000 - 1);
  EXPECT_EQ(play.state(id), AttemptState::starting);
  play.pass(1);
  EXPECT_EQ(play.state(id), AttemptState::failed);
  EXPECT_EQ(play.records.at(id).reason, Reason::start_failed);
  EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);
}

TEST(Lifecycle, TheStartDeadlineEndsWithTheFirstWord) {
  Play play;
  const AttemptId id = play.submit();
  play.started(id);
  decide::Sight sight;
  sight.journal = {play.record(1, JournalKind::runner_started)};
  play.see(id, sight);
  play.pass(play.world.policy.start_deadline_s * 2000);
  EXPECT_EQ(play.state(id), AttemptState::starting);  // prechecks may take their time
}

// R9, R10: a workload, or somebody else, removed the journal or the whole of runtime/.
TEST(Lifecycle, APlaceThatLostWhatItsRunnerWroteIsGivenUpInTime) {
  for (const bool was_running : {false, true}) {
    Play play;
    const AttemptId id = play.submit();
    if (was_running) {
      play.running(id);
    } else {
      play.started(id);
      decide::Sight spoke;
      spoke.journal = {play.record(1, JournalKind::runner_started)};
      play.see(id, spoke);
    }
    EXPECT_TRUE(play.world.timers.empty());
    const AttemptState before = play.state(id);
    play.take(decide::observed(play.world, id, decide::Sight{}, 0, play.now()));  // nothing is there any more
    play.pass(play.world.policy.lost_deadline_s * 1000 - 1);
    EXPECT_EQ(play.state(id), before);
    play.pass(1);
    EXPECT_EQ(play.state(id), AttemptState::interrupted);
    EXPECT_EQ(play.records.at(id).reason, Reason::runner_lost);
    EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);  // whatever still runs there must end
  }
}

TEST(Lifecycle, WhatWasMissingInOneLookAndIsThereInTheNextHarmsNobody) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  play.take(decide::observed(play.world, id, decide::Sight{}, 0, play.now()));
  play.see(id, {});
  EXPECT_TRUE(play.world.timers.empty());
  play.pass(play.world.policy.lost_deadline_s * 2000);
  EXPECT_EQ(play.state(id), AttemptState::running);
}

TEST(Lifecycle, APlaceThatIsGoneIsToldToStopBeforeItIsGivenBack) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  play.take(decide::place_gone(play.world, id, "no such directory", play.now()));
  EXPECT_EQ(play.state(id), AttemptState::interrupted);
  EXPECT_EQ(play.records.at(id).reason, Reason::node_lost);
  EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);
}

TEST(Lifecycle, SilenceOfAPlaceThatCannotBeReachedIsNoEvidence) {  // R6
  Play play;
  const AttemptId id = play.submit();
  play.started(id);
  const Error error{ErrorCode::unavailable, "no route"};
  play.take(decide::not_observed(play.world, id, play.world.policy.unreachable_after_failures, error, play.now()));
  play.pass(play.world.policy.start_deadline_s * 5000);
  EXPECT_EQ(play.state(id), AttemptState::starting);
}

TEST(Lifecycle, WhatCannotBeReadIsGivenUpUnlikeWhatCannotBeReached) {
  for (const ErrorCode code : {ErrorCode::corrupt, ErrorCode::unavailable}) {
    Play play;
    const AttemptId id = play.submit();
    play.running(id);
    play.take(decide::not_observed(play.world, id, play.world.policy.corrupt_after_failures, Error{code, "garbage"},
                                   play.now()));
    EXPECT_EQ(play.state(id), code == ErrorCode::corrupt ? AttemptState::interrupted : AttemptState::running);
  }
}

TEST(Lifecycle, ANetworkErrorMovesReachabilityOnly) {  // R6
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  const Error error{ErrorCode::unavailable, "no route"};
  play.take(decide::not_observed(play.world, id, 1, error, play.now()));
  EXPECT_EQ(play.records.at(id).reachability, Reachability::live);
  play.take(decide::not_observed(play.world, id, 3, error, play.now()));
  EXPECT_EQ(play.records.at(id).reachability, Reachability::suspected);
  play.take(decide::not_observed(play.world, id, 10, error, play.now()));
  EXPECT_EQ(play.records.at(id).reachability, Reachability::unreachable);
  EXPECT_EQ(play.state(id), AttemptState::running);
  play.see(id, {});
  EXPECT_EQ(play.records.at(id).reachability, Reachability::live);
  EXPECT_EQ(play.state(id), AttemptState::running);
}

TEST(Lifecycle, FailedIntentsAreRetriedWithBackOffAndGivenUpInTheEnd) {
  Play play;
  const AttemptId id = play.submit();
  std::int64_t last_wait = 0;
  for (int i = 1; i < play.world.policy.max_tries; ++i) {
    play.failed(id, IntentKind::provision, ErrorCode::unavailable);
    const Intent* intent = play.world.open_intent(id, IntentKind::provision);
    ASSERT_NE(intent, nullptr);
    const std::int64_t wait = intent->not_before.ms - play.now().steady.ms;
    EXPECT_GE(wait, last_wait);
    EXPECT_LE(wait, play.world.policy.retry_max_ms);
    last_wait = wait;
  }
  play.failed(id, IntentKind::provision, ErrorCode::unavailable);
  EXPECT_EQ(play.state(id), AttemptState::failed);
  EXPECT_EQ(play.records.at(id).reason, Reason::start_failed);
}

TEST(Lifecycle, AStopIsTriedForEver) {
  Play play;
  const AttemptId id = play.submit();
  play.running(id);
  play.take(decide::request_stop(play.world, id, "bob", play.now()).value());
  for (int i = 0; i < 100; ++i) play.failed(id, IntentKind::stop, ErrorCode::unavailable);
  EXPECT_NE(play.world.open_intent(id, IntentKind::stop), nullptr);
}

TEST(Lifecycle, AnOutcomeToldTwiceCountsOnce) {
  Play play;
  const AttemptId id = play.submit();
  const Intent intent = *play.world.open_intent(id, IntentKind::provision);
  play.take(decide::intent_done(play.world, intent, {"handle", std::nullopt}, play.now()));
  EXPECT_TRUE(decide::intent_done(play.world, intent, {"other", std::nullopt}, play.now()).empty());
  EXPECT_EQ(play.records.at(id).handle, "handle");
}

TEST(Lifecycle, ASecondAttemptIsRefusedWhileOneLives) {  // R8
  Play play;
  const orbit::Run run = play.new_run();
  const AttemptId id = play.submit(run);
  const decide::NewAttempt again{AttemptId::make(WallTime{5000}, {}), 2, "", std::nullopt, "ann"};
  EXPECT_EQ(decide::add_attempt(play.world, run, again, play.now()).error().code, ErrorCode::conflict);
  play.failed(id, IntentKind::provision, ErrorCode::unsupported);
  const Effects effects = decide::add_attempt(play.world, run, again, play.now()).value();
  EXPECT_EQ(std::get<AddAttempt>(effects.changes.at(0)).bundle, run.bundle);
}

// Whatever comes in whatever order: legal transitions only, final states stay (Play asserts both), slots are never
// exceeded, and what is over leaves nothing open for ever.
RC_GTEST_PROP(Lifecycle, AnyOrderOfInputsKeepsTheRules, ()) {
  Play play;
  play.world.policy.local_slots = *rc::gen::inRange(1, 3);
  std::vector<AttemptId> ids;
  const auto steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i) {
    const int what = *rc::gen::inRange(0, 9);
    if (what == 0 || ids.empty()) {
      if (ids.size() < 6) ids.push_back(play.submit());
      continue;
    }
    const AttemptId id = ids[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(ids.size())))];
    const auto any_intent = [&]() -> std::optional<Intent> {
      for (const auto& [key, intent] : play.world.intents)
        if (intent.attempt == id) return intent;
      return std::nullopt;
    };
    switch (what) {
      case 1:
      case 2:
      case 3:
        if (const auto intent = any_intent()) {
          decide::Outcome outcome{"h", std::nullopt};
          if (intent->kind == IntentKind::collect) outcome.collected = decide::Collected{};
          play.take(decide::intent_done(play.world, *intent, outcome, play.now()));
        }
        break;
      case 4:
        if (const auto intent = any_intent())
          play.take(decide::intent_failed(play.world, *intent,
                                          Error{*rc::gen::element(ErrorCode::unavailable, ErrorCode::exhausted,
                                                                  ErrorCode::corrupt, ErrorCode::not_found),
                                                "x"},
                                          play.now()));
        break;
      case 5: {
        decide::Sight sight;
        sight.started = true;
        sight.epoch = *rc::gen::element(1, 1, 1, 2);
        sight.runner_dead = *rc::gen::arbitrary<bool>();
        for (int r = 0, n = *rc::gen::inRange(0, 4); r < n; ++r)
          sight.journal.push_back(
              play.record(play.records.at(id).journal_seq + *rc::gen::inRange(0, 3),
                          *rc::gen::element(JournalKind::runner_started, JournalKind::workload_started,
                                            JournalKind::workload_ended)));
        if (*rc::gen::inRange(0, 4) == 0) sight.result = play.result(id);
        play.take(decide::observed(play.world, id, sight, *rc::gen::inRange(0, 7), play.now()));
        break;
      }
      case 6:
        if (auto effects = decide::request_stop(play.world, id, "bob", play.now())) play.take(std::move(*effects));
        break;
      case 7:
        play.take(decide::not_observed(play.world, id, *rc::gen::inRange(1, 15), Error{}, play.now()));
        break;
      default:
        play.pass(*rc::gen::inRange(0, 200'000));
        break;
    }
    play.settle();
    RC_ASSERT(!::testing::Test::HasFatalFailure());
    for (const auto& [target, used] : play.world.occupied) RC_ASSERT(used <= play.world.policy.local_slots);
    for (const auto& [key, intent] : play.world.intents) RC_ASSERT(play.world.find(intent.attempt) != nullptr);
  }
}

}  // namespace
}  // namespace orbit
