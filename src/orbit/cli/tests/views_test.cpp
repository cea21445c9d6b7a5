#include <gtest/gtest.h>

#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

TEST(RunDetails, ParamsAreShownAsTheyWereWritten) {
  wire::RunObject run;
  run.params["lr"] = 0.003;
  run.params_text["lr"] = "0.003";
  run.params["momentum"] = 0.1;
  run.params_text["momentum"] = "0.10";
  const std::string text = run_details(run, Terminal{});
  EXPECT_NE(text.find("lr=0.003 momentum=0.10"), std::string::npos) << text;
}

}  // namespace
}  // namespace orbit::cli
