#include "orbit/cli/report_view.hpp"

#include <gtest/gtest.h>

#include "orbit/base/digest.hpp"
#include "orbit/cli/event_view.hpp"

namespace orbit::cli {
namespace {

TEST(ReportView, ADiffShowsWhatPeopleCompareAndCountsTheArtifacts) {
  const std::string a = Sha256::of("a").hex(), b = Sha256::of("b").hex();
  const auto rows = summarised({{"request", "params.lr", "0.003", "0.010"},
                                {"code", "bundle", a, b},
                                {"result", "artifact.model.npz", a, b},
                                {"result", "artifact.old.txt", a, std::nullopt},
                                {"result", "metric.loss", "0.1", "0.2"}});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].right, "0.010");
  EXPECT_EQ(rows[1].left, a.substr(0, 12));
  EXPECT_EQ(rows[2].key, "metric.loss");
  EXPECT_EQ(rows[3].key, "artifacts: 1 differ, 1 only left (--all lists them)");
}

TEST(ReportView, MetricsStandSideBySide) {
  const WallTime at{0};
  const std::string text =
      metric_table({{"loss", 1, 0.5, at}, {"loss", 2, std::nullopt, at}, {"accuracy", 2, 0.25, at}}).text(0, false);
  EXPECT_EQ(text, "STEP  accuracy        loss\n   1                   0.5\n   2      0.25  not finite\n") << text;
}

TEST(ReportView, EventsOfARunNameTheAttempt) {
  wire::EventObject event;
  event.seq = 7;
  event.run = "01m8nmvh9vxyrg9esywbptmpx3";
  event.attempt = "01m8nmvh9vxyrg9esywbptmpx4";
  event.from = AttemptState::queued;
  event.to = AttemptState::provisioning;
  event.actor = "orbit";
  event.evidence = "a slot is free";
  const std::string text = event_table_of_run({event}, {{*event.attempt, 2}}, WallTime{0}, Terminal{});
  EXPECT_EQ(text.find(*event.run), std::string::npos) << text;
  EXPECT_NE(text.find("  2  queued → provisioning"), std::string::npos) << text;
}

}  // namespace
}  // namespace orbit::cli
