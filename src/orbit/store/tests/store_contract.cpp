#include "orbit/store/tests/store_contract.hpp"

#include <cmath>
#include <limits>
#include <set>

namespace orbit::store::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);

TEST_P(StoreContract, a_new_database_is_empty) {
  const auto live = store_->load_live();
  ASSERT_TRUE(live) << live.error().text();
  EXPECT_EQ(live->last_event_seq, 0);
  EXPECT_EQ(live->last_run_seq, 0);
  EXPECT_EQ(live->last_attempt_seq, 0);
  EXPECT_TRUE(live->attempts.empty());
  EXPECT_TRUE(reader_->projects().value().empty());
  EXPECT_TRUE(reader_->runs({}, {}).value().empty());
  EXPECT_TRUE(reader_->events(0, 10, {}).value().empty());
  EXPECT_TRUE(reader_->attempt_counts_by_state().value().empty());
  EXPECT_FALSE(reader_->project("p").value());
  EXPECT_FALSE(reader_->run(next_id<RunId>()).value());
  EXPECT_FALSE(reader_->attempt(next_id<AttemptId>()).value());
  EXPECT_EQ(reader_->metrics_offset(next_id<AttemptId>()).value(), 0);
}

TEST_P(StoreContract, projects_are_added_updated_and_listed_by_name) {
  must_commit({AddProject{project("q")}, AddProject{project("p")}});
  EXPECT_EQ(json_of(*reader_->project("p").value()), json_of(project("p")));

  Project next = project("p");
  next.description = "new";
  next.created_by = "somebody else";  // not part of an update
  next.created_at = WallTime{1};
  must_commit({UpdateProject{next}});
  Project expected = project("p");
  expected.description = "new";
  expected.version = 2;
  EXPECT_EQ(json_of(*reader_->project("p").value()), json_of(expected));

  const auto all = reader_->projects().value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "p");
  EXPECT_EQ(all[1].name, "q");
}

TEST_P(StoreContract, a_project_name_is_taken_once_and_updates_compare_versions) {
  must_commit({AddProject{project("p")}});
  refused({AddProject{project("q")}, AddProject{project("p")}}, "project 'p' exists already");
  EXPECT_FALSE(reader_->project("q").value()) << "a batch is all or nothing";
  refused({AddProject{project("r")}, AddProject{project("r")}}, "project 'r' exists already");

  must_commit({UpdateProject{project("p")}});
  refused({UpdateProject{project("p")}}, "project 'p' changed meanwhile: it is at version 2");
  refused({UpdateProject{project("nobody")}}, "project 'nobody' is not recorded");
}

TEST_P(StoreContract, updates_of_one_project_in_one_batch_follow_each_other) {
  Project second = project("p");
  second.version = 2;
  second.description = "third text";
  must_commit({AddProject{project("p")}, UpdateProject{project("p")}, UpdateProject{second}});
  EXPECT_EQ(reader_->project("p").value()->version, 3);
  EXPECT_EQ(reader_->project("p").value()->description, "third text");
}

TEST_P(StoreContract, experiments_are_created_and_concluded) {
  must_commit({AddProject{project("p")}, AddProject{project("q")}, AddExperiment{experiment("p", "e")},
               AddExperiment{experiment("q", "e")}});
  refused({AddExperiment{experiment("p", "e")}}, "experiment 'e' exists already in project 'p'");
  refused({AddExperiment{experiment("nowhere", "e")}}, "no project 'nowhere'");

  Experiment concluded = experiment("p", "e");
  concluded.conclusion = "it was slower";
  concluded.concluded_at = WallTime{1'700'000'009'000};
  must_commit({ConcludeExperiment{concluded}});
  Experiment expected = concluded;
  expected.version = 2;
  EXPECT_EQ(json_of(*reader_->experiment("p", "e").value()), json_of(expected));
  EXPECT_EQ(json_of(*reader_->experiment("q", "e").value()), json_of(experiment("q", "e")));
  EXPECT_FALSE(reader_->experiment("p", "f").value());
  EXPECT_EQ(reader_->experiments({}).value().size(), 2U);
  EXPECT_EQ(reader_->experiments("q").value().size(), 1U);
  refused({ConcludeExperiment{concluded}}, "experiment 'e' of project 'p' changed meanwhile");
}

TEST_P(StoreContract, R1_a_run_comes_back_exactly_as_it_was_frozen) {
  Run r = run(1, "p", "one");
  r.experiment = "e";
  r.tags = {"zeta", "alpha", "zeta"};
  r.submission.name = "one";
  r.request.values.runtime_env = {{"A", "b\nc\x01"}};
  Attempt a = attempt(1, r);
  must_commit({AddProject{project("p")}, AddExperiment{experiment("p", "e")}, AddRun{r}, AddAttempt{a, {}, {}}});
  const auto view = reader_->run(r.id).value();
  ASSERT_TRUE(view);
  EXPECT_EQ(json_of(view->run), json_of(r));
  ASSERT_EQ(view->attempts.size(), 1U);
  EXPECT_EQ(json_of(view->attempts[0]), json_of(a));
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(a));
}

TEST_P(StoreContract, R18_a_run_name_is_unique_in_its_project) {
  begin_run("one");
  must_commit({AddProject{project("q")}});
  refused({AddRun{run(50, "p", "one")}}, "a run named 'one' exists already in project 'p'");
  must_commit({AddRun{run(50, "q", "one")}});
  refused({AddRun{run(51, "q", "two")}, AddRun{run(52, "q", "two")}},
          "a run named 'two' exists already in project 'q'");

  const auto everywhere = reader_->runs_named("one", {}).value();
  ASSERT_EQ(everywhere.size(), 2U);
  EXPECT_EQ(reader_->run(everywhere[0]).value()->run.project, "q") << "newest first";
  ASSERT_EQ(reader_->runs_named("one", "p").value().size(), 1U);
  EXPECT_EQ(reader_->run(reader_->runs_named("one", "p").value()[0]).value()->run.project, "p");
  EXPECT_TRUE(reader_->runs_named("two", {}).value().empty());
}

TEST_P(StoreContract, a_run_needs_its_project_and_experiment_and_numbers_of_its_own) {
  const auto [r, a] = begin_run();
  refused({AddRun{run(9, "nowhere", "x")}}, "no project 'nowhere'");
  Run lost = run(9, "p", "x");
  lost.experiment = "nothing";
  refused({AddRun{lost}}, "project 'p' has no experiment 'nothing'");
  refused({AddRun{run(r.seq, "p", "x")}}, "number 1 is another run's");
  Run same = r;
  same.seq = 9;
  same.name = "x";
  refused({AddRun{same}}, "is recorded already");
  refused({AddAttempt{attempt(9, run(9, "p", "x")), {}, {}}}, "is not recorded");
  refused({AddAttempt{attempt(9, r, 1), {}, {}}}, "has an attempt 1 already");
  refused({AddAttempt{attempt(a.seq, r, 2), {}, {}}}, "number 1 is another attempt's");
  const auto unnumbered = commit({AddRun{run(0, "p", "x")}});
  ASSERT_FALSE(unnumbered);
  EXPECT_EQ(unnumbered.error().code, ErrorCode::invalid_argument);
}

TEST_P(StoreContract, R1_nothing_of_a_run_can_be_changed_or_deleted_even_past_the_store) {
  Run r = run(1, "p", "one");
  r.tags = {"t"};
  must_commit({AddProject{project("p")}, AddRun{r}});
  for (const char* column :
       {"name", "bundle", "template_digest", "submission", "request", "code", "created_by", "tags"})
    EXPECT_FALSE(backend_->raw(std::string("UPDATE run SET ") + column + " = 'x'")) << column;
  EXPECT_FALSE(backend_->raw("UPDATE run SET seq = seq + 1"));
  EXPECT_FALSE(backend_->raw("DELETE FROM run"));
  EXPECT_FALSE(backend_->raw("UPDATE run_tag SET tag = 'x'"));
  EXPECT_FALSE(backend_->raw("DELETE FROM run_tag"));
  EXPECT_FALSE(
      backend_->raw("INSERT INTO run_tag (tag, seq, project, run) VALUES ('x', 1, 'p', '" + r.id.str() + "')"));
  EXPECT_EQ(json_of(reader_->run(r.id).value()->run), json_of(r));
}

TEST_P(StoreContract, R6_an_attempt_moves_by_compare_and_set) {
  const auto [r, a] = begin_run();
  const UpdateAttempt queued = moved(a, AttemptState::queued);
  must_commit({queued});
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(queued.attempt));

  refused({queued}, "changed meanwhile: it is queued at version 2, the change is based on submitted at version 1");
  UpdateAttempt wrong_state = moved(queued.attempt, AttemptState::provisioning);
  wrong_state.seen_state = AttemptState::submitted;
  refused({wrong_state}, "it is queued at version 2");
  UpdateAttempt unknown = moved(attempt(7, r, 3), AttemptState::queued);
  refused({unknown}, "is not recorded");
  UpdateAttempt other_number = moved(queued.attempt, AttemptState::provisioning);
  other_number.attempt.number = 2;
  refused({other_number}, "that never changes");

  UpdateAttempt jump = moved(queued.attempt, AttemptState::provisioning);
  jump.attempt.version = 7;
  const auto refused_jump = commit({jump});
  ASSERT_FALSE(refused_jump);
  EXPECT_EQ(refused_jump.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(queued.attempt));
}

TEST_P(StoreContract, updates_of_one_attempt_in_one_batch_chain_their_versions) {
  Run r = run(1, "p", "one");
  const Attempt a = attempt(1, r);
  const UpdateAttempt first = moved(a, AttemptState::queued);
  const UpdateAttempt second = moved(first.attempt, AttemptState::provisioning);
  must_commit({AddProject{project("p")}, AddRun{r}, AddAttempt{a, {}, {}}, first, second});
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(second.attempt));

  const UpdateAttempt third = moved(second.attempt, AttemptState::starting);
  refused({third, third}, "changed meanwhile: it is starting at version 4");
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(second.attempt));
}

TEST_P(StoreContract, R6_a_final_state_is_written_once) {
  for (const AttemptState end :
       {AttemptState::succeeded, AttemptState::failed, AttemptState::terminated, AttemptState::interrupted}) {
    const auto [r, a] = begin_run(std::string("ends-") + std::string(json::name_of(end)));
    const UpdateAttempt ended = moved(a, end);
    must_commit({ended});
    refused({moved(ended.attempt, AttemptState::running)}, "never changes");
    UpdateAttempt lying = moved(ended.attempt, AttemptState::failed);
    lying.seen_state = AttemptState::running;
    refused({lying}, "has ended as " + std::string(json::name_of(end)));
    EXPECT_FALSE(backend_->raw("UPDATE attempt SET doc = 'x', version = version + 1 WHERE id = '" + a.id.str() + "'"));
    EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(ended.attempt));
  }
  EXPECT_FALSE(backend_->raw("DELETE FROM attempt"));
}

TEST_P(StoreContract, what_identifies_an_attempt_cannot_be_changed_past_the_store) {
  const auto [r, a] = begin_run();
  EXPECT_FALSE(backend_->raw("UPDATE attempt SET number = 7, version = version + 1"));
  EXPECT_FALSE(backend_->raw("UPDATE attempt SET created_at = 7, version = version + 1"));
  EXPECT_FALSE(backend_->raw("UPDATE attempt SET state = 'queued'")) << "without a new version";
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(a));
}

TEST_P(StoreContract, a_batch_whose_last_change_conflicts_leaves_nothing) {
  const auto [r, a] = begin_run();
  const auto before = store_->load_live().value();
  Run other = run(2, "p", "two");
  const Attempt b = attempt(2, other);
  const Batch doomed =
      batch({AddProject{project("q")}, AddRun{other}, AddAttempt{b, {}, {}}, moved(a, AttemptState::queued),
             AddIntent{intent(a.id, IntentKind::provision)}, SetTimer{timer(a.id, WallTime{1})},
             AddMetrics{a.id, 0, 10, {{"loss", 1, 0.5, WallTime{1}}}},
             AddCheckpoint{{a.id, {"checkpoints/1", 1, 1, 1, digest("c"), WallTime{1}}}}, AddToken{token("t")},
             RevokeToken{next_id<TokenId>(), WallTime{1}}},
            {event(1)});
  const auto done = store_->commit(doomed);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::conflict);
  EXPECT_FALSE(store_->committed(doomed.id).value());
  EXPECT_FALSE(reader_->project("q").value());
  EXPECT_FALSE(reader_->run(other.id).value());
  EXPECT_FALSE(reader_->attempt(b.id).value());
  EXPECT_EQ(json_of(*reader_->attempt(a.id).value()), json_of(a));
  EXPECT_TRUE(reader_->metrics(a.id, "").value().empty());
  EXPECT_TRUE(reader_->checkpoints(a.id).value().empty());
  EXPECT_TRUE(reader_->tokens().value().empty());
  EXPECT_TRUE(reader_->events(0, 10, {}).value().empty());
  const auto after = store_->load_live().value();
  EXPECT_EQ(after.last_run_seq, before.last_run_seq);
  EXPECT_TRUE(after.intents.empty());
  EXPECT_TRUE(after.timers.empty());
  // And nothing of it is left over for the next batch.
  must_commit({moved(a, AttemptState::queued)});
  EXPECT_FALSE(reader_->run(other.id).value());
}

TEST_P(StoreContract, a_batch_is_recorded_once_and_can_be_asked_for) {
  const Batch first = batch({AddProject{project("p")}});
  EXPECT_FALSE(store_->committed(first.id).value());
  ASSERT_TRUE(store_->commit(first));
  EXPECT_TRUE(store_->committed(first.id).value());
  Batch again = first;
  again.changes = {AddProject{project("q")}};
  const auto repeated = store_->commit(again);
  ASSERT_FALSE(repeated);
  EXPECT_EQ(repeated.error().code, ErrorCode::conflict);
  EXPECT_FALSE(reader_->project("q").value());
  const auto nameless = store_->commit(Batch{{}, epoch_, {}, {}});
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code, ErrorCode::invalid_argument);
}

TEST_P(StoreContract, leadership_is_at_least_the_time_and_always_grows) {
  EXPECT_EQ(epoch_, 1'700'000'000);
  EXPECT_EQ(store_->take_leadership(WallTime{5'000}).value(), 1'700'000'001) << "a clock that went back";
  EXPECT_EQ(store_->take_leadership(WallTime{1'800'000'000'999}).value(), 1'800'000'000);
  EXPECT_EQ(store_->take_leadership(WallTime{1'800'000'000'999}).value(), 1'800'000'001);
}

TEST_P(StoreContract, an_outdated_leader_changes_nothing) {
  must_commit({AddProject{project("p")}});
  auto second = backend_->open();
  ASSERT_TRUE(second) << second.error().text();
  const std::int64_t newer = (*second)->take_leadership(WallTime{1'700'000'000'000}).value();
  EXPECT_GT(newer, epoch_);

  const auto done = commit({AddProject{project("q")}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::conflict);
  EXPECT_EQ(done.error().field, "leader");
  EXPECT_NE(done.error().message.find("outdated leader"), std::string::npos);
  EXPECT_FALSE(reader_->project("q").value());
  ASSERT_TRUE((*second)->commit(Batch{next_id<BatchId>(), newer, {AddProject{project("q")}}, {}}));
  EXPECT_TRUE(reader_->project("q").value());
}

TEST_P(StoreContract, metrics_are_kept_by_name_and_step_and_the_last_word_counts) {
  const auto [r, a] = begin_run();
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  must_commit({AddMetrics{
      a.id, 0, 100, {{"loss", 2, 0.1, WallTime{2}}, {"loss", 1, 1.0 / 3, WallTime{1}}, {"acc", 1, nan, WallTime{1}}}}});
  must_commit({AddMetrics{a.id, 100, 150, {{"loss", 2, -inf, WallTime{5}}, {"loss", 3, 5e-324, WallTime{6}}}},
               AddMetrics{a.id, 150, 150, {}},
               AddMetrics{a.id, 150, 200, {{"loss", 3, 1.7976931348623157e308, WallTime{7}}}}});
  EXPECT_EQ(reader_->metrics_offset(a.id).value(), 200);

  const auto loss = reader_->metrics(a.id, "loss").value();
  ASSERT_EQ(loss.size(), 3U);
  EXPECT_EQ(loss[0].step, 1);
  EXPECT_EQ(loss[0].value, 1.0 / 3) << "to the last bit";
  EXPECT_EQ(loss[1].value, -inf);
  EXPECT_EQ(loss[1].at, WallTime{5});
  EXPECT_EQ(loss[2].value, 1.7976931348623157e308);
  const auto all = reader_->metrics(a.id, "").value();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name, "acc");
  EXPECT_TRUE(std::isnan(all[0].value));
}

TEST_P(StoreContract, metrics_without_a_gap_and_not_twice) {
  const auto [r, a] = begin_run();
  const std::vector<MetricPoint> points = {{"loss", 1, 1.0, WallTime{1}}};
  refused({AddMetrics{a.id, 10, 20, points}}, "are recorded up to byte 0, these begin at byte 10");
  must_commit({AddMetrics{a.id, 0, 10, points}});
  refused({AddMetrics{a.id, 0, 10, points}}, "are recorded up to byte 10");
  refused({AddMetrics{next_id<AttemptId>(), 0, 10, points}}, "is not recorded");
  const auto backwards = commit({AddMetrics{a.id, 10, 9, points}});
  ASSERT_FALSE(backwards);
  EXPECT_EQ(backwards.error().code, ErrorCode::invalid_argument);
}

TEST_P(StoreContract, checkpoints_come_in_the_order_announced_and_once) {
  const auto [r, a] = begin_run();
  const CheckpointRecord late{"checkpoints/a-2", 2, 3, 4, digest("late"), WallTime{20}};
  const CheckpointRecord early{"checkpoints/b-1", {}, 3, 4, digest("early"), WallTime{10}};
  CheckpointRecord repeated = late;
  repeated.files = 99;
  must_commit({AddCheckpoint{{a.id, late}}, AddCheckpoint{{a.id, early}}, AddCheckpoint{{a.id, repeated}}});
  const auto found = reader_->checkpoints(a.id).value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(json_of(found[0]), json_of(early));
  EXPECT_EQ(json_of(found[1]), json_of(late));
  refused({AddCheckpoint{{next_id<AttemptId>(), late}}}, "is not recorded");
}

TEST_P(StoreContract, R9_intents_stay_until_finished) {
  const auto [r, a] = begin_run();
  const Intent first = intent(a.id, IntentKind::provision);
  Intent again = first;
  again.tries = 5;
  must_commit({AddIntent{first}, AddIntent{again}});
  auto live = store_->load_live().value();
  ASSERT_EQ(live.intents.size(), 1U);
  EXPECT_EQ(json_of(live.intents[0]), json_of(first)) << "idempotent by key";

  again.not_before = WallTime{99};
  must_commit({RetryIntent{again}});
  EXPECT_EQ(json_of(store_->load_live().value().intents[0]), json_of(again));
  must_commit({FinishIntent{first.key}});
  EXPECT_TRUE(store_->load_live().value().intents.empty());
  must_commit({FinishIntent{first.key}});
  refused({RetryIntent{again}}, "is not open");
  refused({AddIntent{intent(next_id<AttemptId>(), IntentKind::stop)}}, "is not recorded");
}

TEST_P(StoreContract, changes_of_one_row_apply_in_the_order_given) {
  const auto [r, a] = begin_run();
  const Intent first = intent(a.id, IntentKind::provision);
  Intent second = first;
  second.epoch = 2;
  must_commit({AddIntent{first}});
  must_commit({FinishIntent{first.key}, AddIntent{second}, SetTimer{timer(a.id, WallTime{1})},
               DropTimer{timer(a.id, {}).key}, SetTimer{timer(a.id, WallTime{3})}, SetTimer{timer(a.id, WallTime{2})}});
  auto live = store_->load_live().value();
  ASSERT_EQ(live.intents.size(), 1U);
  EXPECT_EQ(live.intents[0].epoch, 2);
  ASSERT_EQ(live.timers.size(), 1U);
  EXPECT_EQ(live.timers[0].due, WallTime{2});

  Intent tried = second;
  tried.tries = 1;
  must_commit({RetryIntent{tried}, FinishIntent{tried.key}, AddIntent{first}, FinishIntent{first.key},
               DropTimer{timer(a.id, {}).key}});
  live = store_->load_live().value();
  EXPECT_TRUE(live.intents.empty());
  EXPECT_TRUE(live.timers.empty());
}

TEST_P(StoreContract, timers_are_set_replaced_and_dropped) {
  const auto [r, a] = begin_run();
  must_commit({SetTimer{timer(a.id, WallTime{10})}});
  must_commit({SetTimer{timer(a.id, WallTime{20})}});
  const auto live = store_->load_live().value();
  ASSERT_EQ(live.timers.size(), 1U);
  EXPECT_EQ(json_of(live.timers[0]), json_of(timer(a.id, WallTime{20})));
  must_commit({DropTimer{live.timers[0].key}, DropTimer{"unknown"}});
  EXPECT_TRUE(store_->load_live().value().timers.empty());
  refused({SetTimer{timer(next_id<AttemptId>(), WallTime{1})}}, "is not recorded");
}

TEST_P(StoreContract, X1_tokens_are_found_by_secret_and_revoked_once) {
  Token t = token("ann");
  t.expires_at = WallTime{1'800'000'000'000};
  must_commit({AddToken{t}, AddToken{token("bob")}});
  EXPECT_EQ(json_of(*reader_->token_by_secret(t.secret).value()), json_of(t));
  EXPECT_FALSE(reader_->token_by_secret(digest("guess")).value());
  EXPECT_FALSE(reader_->token_by_secret({}).value());
  EXPECT_EQ(reader_->tokens().value().size(), 2U);

  must_commit({RevokeToken{t.id, WallTime{50}}});
  must_commit({RevokeToken{t.id, WallTime{60}}});
  EXPECT_EQ(reader_->token_by_secret(t.secret).value()->revoked_at, WallTime{50});
  refused({RevokeToken{next_id<TokenId>(), WallTime{1}}}, "is not recorded");
  Token copy = token("eve");
  copy.secret = t.secret;
  refused({AddToken{copy}}, "has this secret");
  refused({AddToken{t}}, "is recorded already");
}

TEST_P(StoreContract, events_come_back_in_order_and_by_run) {
  const RunId one = next_id<RunId>();
  std::vector<Event> events;
  for (std::int64_t seq = 1; seq <= 25; ++seq) events.push_back(event(seq, seq % 2 == 0 ? one : RunId{}));
  events[3].from = AttemptState::queued;
  events[3].to = AttemptState::failed;
  events[3].reason = Reason::gpu_oom;
  events[3].project = "p";
  events[3].evidence = "quote \" and \n line, NUL " + std::string(1, '\0');
  must_commit({}, events);
  EXPECT_EQ(store_->load_live().value().last_event_seq, 25);

  const auto after = reader_->events(3, 10, {}).value();
  ASSERT_EQ(after.size(), 10U);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(json_of(after[i]), json_of(events[i + 3]));
  const auto of_run = reader_->events(4, 100, one).value();
  ASSERT_EQ(of_run.size(), 10U) << "6, 8 … 24, and never a row as text would sort it";
  EXPECT_EQ(of_run.front().seq, 6);
  EXPECT_EQ(of_run.back().seq, 24);
  EXPECT_TRUE(reader_->events(25, 10, {}).value().empty());
  EXPECT_TRUE(reader_->events(0, 0, {}).value().empty());
  EXPECT_TRUE(reader_->events(0, -1, {}).value().empty());
}

TEST_P(StoreContract, an_event_number_is_never_used_twice_or_late) {
  must_commit({}, {event(5)});
  for (const std::int64_t seq : {5, 4}) {
    const auto done = commit({}, {event(seq)});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::conflict);
  }
  for (const auto& wrong : {std::vector{event(6), event(6)}, std::vector{event(8), event(7)}, std::vector{event(0)}}) {
    const auto done = commit({}, wrong);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(backend_->raw("UPDATE event SET doc = 'x'"));
  EXPECT_FALSE(backend_->raw("DELETE FROM event"));
  must_commit({}, {event(9)});
}

TEST_P(StoreContract, runs_are_filtered_and_paged_newest_first) {
  must_commit({AddProject{project("p")}, AddProject{project("q")}, AddExperiment{experiment("p", "e")}});
  for (std::int64_t seq = 1; seq <= 24; ++seq) {
    Run r = run(seq, seq % 2 == 0 ? "p" : "q", "run-" + std::to_string(seq));
    r.created_by = seq % 3 == 0 ? "ann" : "bob";
    if (seq % 4 == 0) r.experiment = "e";
    if (seq % 6 == 0) r.tags = {"six", "all"};
    if (seq % 6 == 1) r.tags = {"all"};
    Attempt a = attempt(seq, r);
    // A state few runs are in, and a common one: they are looked for in different ways.
    if (seq % 5 == 0) a.state = AttemptState::running;
    if (seq % 5 == 1) a.state = AttemptState::failed;
    must_commit({AddRun{r}, AddAttempt{a, {}, {}}});
  }
  const auto seqs = [&](const RunFilter& filter, Page page = {}) {
    std::vector<std::int64_t> out;
    const auto found = reader_->runs(filter, page);
    EXPECT_TRUE(found) << found.error().text();
    if (found)
      for (const RunView& view : *found) {
        out.push_back(view.run.seq);
        EXPECT_EQ(view.attempts.size(), 1U);
        for (const Attempt& a : view.attempts) EXPECT_EQ(a.run, view.run.id);
      }
    return out;
  };
  const auto expected = [](auto matches, std::int64_t before = 25, std::size_t limit = 100) {
    std::vector<std::int64_t> out;
    for (std::int64_t seq = before - 1; seq >= 1 && out.size() < limit; --seq)
      if (matches(seq)) out.push_back(seq);
    return out;
  };
  // Every combination of the five filters.
  for (unsigned bits = 0; bits < 64; ++bits) {
    const bool final_state = (bits & 32U) != 0;
    RunFilter filter;
    if ((bits & 1U) != 0) filter.project = "p";
    if ((bits & 2U) != 0) filter.experiment = "e";
    if ((bits & 4U) != 0) filter.tag = "all";
    if ((bits & 8U) != 0) filter.state = final_state ? AttemptState::failed : AttemptState::running;
    if ((bits & 16U) != 0) filter.created_by = "bob";
    const auto matches = [&](std::int64_t seq) {
      return (!filter.project || seq % 2 == 0) && (!filter.experiment || seq % 4 == 0) &&
             (!filter.tag || seq % 6 <= 1) && (!filter.state || seq % 5 == (final_state ? 1 : 0)) &&
             (!filter.created_by || seq % 3 != 0);
    };
    EXPECT_EQ(seqs(filter), expected(matches)) << bits;
    EXPECT_EQ(seqs(filter, {.before_seq = 13, .limit = 2}), expected(matches, 13, 2)) << bits;
  }
  RunFilter nothing;
  nothing.project = "p' OR '1' = '1";
  EXPECT_TRUE(seqs(nothing).empty());
  EXPECT_TRUE(seqs({}, {.before_seq = 0, .limit = 0}).empty());
  EXPECT_TRUE(seqs({}, {.before_seq = 0, .limit = -5}).empty());
  EXPECT_TRUE(seqs({}, {.before_seq = 1, .limit = 5}).empty());
}

TEST_P(StoreContract, the_state_filter_follows_the_latest_attempt) {
  const auto [r, first] = begin_run();
  const auto in_state = [&](AttemptState state) {
    RunFilter filter;
    filter.state = state;
    return reader_->runs(filter, {}).value().size();
  };
  EXPECT_EQ(in_state(AttemptState::submitted), 1U);
  const UpdateAttempt failed = moved(first, AttemptState::failed);
  must_commit({failed});
  EXPECT_EQ(in_state(AttemptState::failed), 1U);

  const Attempt second = attempt(2, r, 2);
  const Attempt third = attempt(3, r, 3);
  must_commit({AddAttempt{third, {}, {}}, AddAttempt{second, {}, {}}});
  EXPECT_EQ(in_state(AttemptState::failed), 0U);
  EXPECT_EQ(in_state(AttemptState::submitted), 1U);
  must_commit({moved(second, AttemptState::running)});
  EXPECT_EQ(in_state(AttemptState::running), 0U) << "not the latest";
  must_commit({moved(third, AttemptState::running)});
  EXPECT_EQ(in_state(AttemptState::running), 1U);
  const auto view = reader_->run(r.id).value();
  ASSERT_EQ(view->attempts.size(), 3U);
  for (std::int32_t i = 0; i < 3; ++i) EXPECT_EQ(view->attempts[static_cast<std::size_t>(i)].number, i + 1);
  EXPECT_EQ(reader_->attempt_counts_by_state().value(),
            (std::map<std::string, std::int64_t>{{"failed", 1}, {"running", 2}}));
}

TEST_P(StoreContract, counts_are_numbers_beyond_one_digit) {
  begin_run();
  for (int i = 0; i < 11; ++i) begin_run("more-" + std::to_string(i));
  EXPECT_EQ(reader_->attempt_counts_by_state().value().at("submitted"), 12);
  EXPECT_EQ(store_->load_live().value().last_run_seq, 12);
}

TEST_P(StoreContract, R9_what_lives_is_loaded_with_its_requests) {
  const auto first = begin_run("queued");
  const auto second = begin_run("ended");
  const auto third = begin_run("to-release");
  const Attempt& queued = first.second;
  const Attempt& ended = second.second;
  const Attempt& to_release = third.second;
  must_commit({moved(queued, AttemptState::queued), moved(ended, AttemptState::failed),
               moved(to_release, AttemptState::succeeded), AddIntent{intent(to_release.id, IntentKind::release)},
               SetTimer{timer(queued.id, WallTime{4})}});
  const auto check = [&] {
    const auto live = store_->load_live().value();
    ASSERT_EQ(live.attempts.size(), 2U);
    EXPECT_EQ(json_of(live.attempts[0]), json_of(moved(queued, AttemptState::queued).attempt));
    EXPECT_EQ(json_of(live.attempts[1]), json_of(moved(to_release, AttemptState::succeeded).attempt));
    ASSERT_EQ(live.requests.size(), 2U);
    EXPECT_EQ(json_of(live.requests.at(first.first.id)), json_of(first.first.request));
    EXPECT_EQ(live.bundles.at(third.first.id), third.first.bundle);
    EXPECT_EQ(live.last_run_seq, 3);
    EXPECT_EQ(live.last_attempt_seq, 3);
    EXPECT_EQ(live.intents.size(), 1U);
    EXPECT_EQ(live.timers.size(), 1U);
  };
  check();
  open();  // closed and opened again
  check();
}

TEST_P(StoreContract, readers_see_whole_batches_and_several_work_at_once) {
  auto second = store_->reader();
  ASSERT_TRUE(second);
  const auto [r, a] = begin_run();
  EXPECT_TRUE(reader_->run(r.id).value());
  EXPECT_TRUE((*second)->run(r.id).value());
  must_commit({moved(a, AttemptState::queued)});
  EXPECT_EQ((*second)->attempt(a.id).value()->state, AttemptState::queued);
  EXPECT_EQ(reader_->attempt(a.id).value()->state, AttemptState::queued);
}

TEST_P(StoreContract, text_that_no_database_takes_is_recorded_readably) {
  auto [r, a] = begin_run();
  UpdateAttempt next = moved(a, AttemptState::queued);
  next.attempt.detail = "bad \xff byte";
  must_commit({next, AddMetrics{a.id, 0, 1, {{std::string("na\0me\xc3", 6), 1, 1.0, WallTime{1}}}}});
  EXPECT_EQ(reader_->attempt(a.id).value()->detail, "bad \xef\xbf\xbd byte");
  EXPECT_EQ(reader_->metrics(a.id, "").value().at(0).name, "na\xef\xbf\xbdme\xef\xbf\xbd");
}

TEST_P(StoreContract, X6_a_database_of_a_newer_orbit_is_refused) {
  store_.reset();
  reader_.reset();
  ASSERT_TRUE(backend_->raw("INSERT INTO schema_version (version) VALUES (999)"));
  const auto store = backend_->open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::unsupported);
  EXPECT_NE(store.error().message.find("999"), std::string::npos);
  EXPECT_FALSE(store.error().hint.empty());
}

TEST_P(StoreContract, a_damaged_record_is_named) {
  const auto [r, a] = begin_run();
  ASSERT_TRUE(backend_->raw("UPDATE attempt SET doc = '{\"id\":', version = version + 1"));
  const auto found = reader_->attempt(a.id);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::corrupt);
  EXPECT_NE(found.error().field.find(a.id.str()), std::string::npos);
  EXPECT_FALSE(reader_->run(r.id));
  EXPECT_FALSE(store_->load_live());
  EXPECT_TRUE(reader_->projects()) << "the connection is still of use";
  EXPECT_TRUE(commit({AddProject{project("z")}}));
}

TEST_P(StoreContract, the_newest_ten_thousand_batches_can_be_asked_for) {
  // The rows that so many commits would leave, without the commits.
  ASSERT_TRUE(backend_->raw("INSERT INTO batch (id, number) VALUES ('oldest', 1)"));
  ASSERT_TRUE(backend_->raw("UPDATE leader SET batches = 10999"));
  const Batch kept = batch({});
  ASSERT_TRUE(backend_->raw("INSERT INTO batch (id, number) VALUES ('" + kept.id.str() + "', 1001)"));
  const Batch next = batch({AddProject{project("p")}});
  ASSERT_TRUE(store_->commit(next));
  EXPECT_TRUE(store_->committed(next.id).value());
  EXPECT_TRUE(store_->committed(kept.id).value());
  // Its number is free again only if the row is gone.
  EXPECT_TRUE(backend_->raw("INSERT INTO batch (id, number) VALUES ('other', 1)"));
}

}  // namespace orbit::store::testing
