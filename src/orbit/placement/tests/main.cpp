// The tests start real runners: this program is one when it is called as a runner.
#include <gtest/gtest.h>

#include <string_view>

#include "orbit/runner/runner.hpp"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "runner") return orbit::runner::run_main(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
