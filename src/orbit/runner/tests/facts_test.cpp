#include "bench.hpp"
#include "orbit/runner/environment.hpp"
#include "orbit/runner/host_facts.hpp"
#include "orbit/runner/journal.hpp"

namespace orbit::runner {
namespace {

using test::put;
using test::slurp;

class Facts : public testing::Test {
 protected:
  platform::TempDirectory temp_ = *platform::TempDirectory::make("/tmp", "orbit-facts-");
  const std::filesystem::path& root = temp_.path();
};

TEST_F(Facts, N2_NothingInstalledIsNothingKnown) {
  EXPECT_FALSE(os_version(root));
  EXPECT_FALSE(driver_version(root));
  EXPECT_FALSE(cuda_version(root));
  EXPECT_EQ(gpus(root).count, 0);
}

TEST_F(Facts, N2_VersionsAsTheSystemWritesThem) {
  put(root / "etc/os-release",
      "NAME=\"Ubuntu\"\nVERSION_ID=\"20.04\"\nVERSION_CODENAME=focal\nID=ubuntu\nID_LIKE=debian\n");
  put(root / "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (archive@host)\nGCC "
      "version:  gcc version 12.2.0 (Debian)\n");
  put(root / "usr/local/cuda/version.json", R"({"cuda": {"name": "CUDA SDK", "version": "12.1.1"}})");
  EXPECT_EQ(os_version(root), "ubuntu 20.04");
  EXPECT_EQ(driver_version(root), "535.104.05");
  EXPECT_EQ(cuda_version(root), "12.1.1");
  std::filesystem::remove(root / "usr/local/cuda/version.json");
  put(root / "usr/local/cuda/version.txt", "CUDA Version 10.1.243\n");
  EXPECT_EQ(cuda_version(root), "10.1.243");
  put(root / "usr/local/cuda/version.json", "[1, {");
  EXPECT_EQ(cuda_version(root), "10.1.243");
}

TEST_F(Facts, R11_GpusAsTheDriverListsThem) {
  put(root / "proc/driver/nvidia/gpus/0000:01:00.0/information",
      "Model: \t\t NVIDIA A100\nIRQ:   \t\t 104\nGPU UUID: \t GPU-1111\nVideo BIOS: \t 92\n");
  put(root / "proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA A100\nGPU UUID: \t GPU-2222\n");
  auto found = gpus(root);
  std::sort(found.uuids.begin(), found.uuids.end());
  EXPECT_EQ(found.count, 2);
  EXPECT_EQ(found.uuids, (std::vector<std::string>{"GPU-1111", "GPU-2222"}));
}

TEST_F(Facts, R11_GpusByTheirDevicesWhereTheDriverIsHidden) {
  for (const char* name : {"nvidia0", "nvidia11", "nvidiactl", "nvidia-uvm", "null"}) put(root / "dev" / name, "");
  EXPECT_EQ(gpus(root).count, 2);
}

Order an_order() {
  platform::SystemRng rng;
  Order order;
  order.attempt = make_id<AttemptId>(rng, {});
  order.run = make_id<RunId>(rng, {});
  return order;
}

TEST(WorkloadEnvironment, S5_ExactlyItsOwnCards) {
  Order order = an_order();
  EXPECT_EQ(workload_environment(order, "/b")->at("CUDA_VISIBLE_DEVICES"), "");
  order.resources.gpus = 2;
  EXPECT_FALSE(workload_environment(order, "/b")->contains("CUDA_VISIBLE_DEVICES"));
  order.gpu_uuids = {"GPU-1", "GPU-2"};
  EXPECT_EQ(workload_environment(order, "/b")->at("CUDA_VISIBLE_DEVICES"), "GPU-1,GPU-2");
}

TEST(WorkloadEnvironment, R5_PythonLeavesNoTraceInTheBundle) {
  Order order = an_order();
  EXPECT_EQ(workload_environment(order, "/b")->at("PYTHONDONTWRITEBYTECODE"), "1");
  order.runtime_env = {{"PYTHONDONTWRITEBYTECODE", ""}};
  EXPECT_EQ(workload_environment(order, "/b")->at("PYTHONDONTWRITEBYTECODE"), "");
}

TEST(WorkloadEnvironment, R8_ResumeIsAnAbsolutePath) {
  Order order = an_order();
  order.resume = ResumeFrom{order.attempt, "checkpoints/step-1", Sha256::of("x")};
  EXPECT_EQ(workload_environment(order, "/b")->at("ORBIT_RESUME_FROM"), "/b/artifacts/resume");
}

TEST(WorkloadEnvironment, X4_HostileVariables) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"", "x"},
                                                                                    {"A=B", "x"},
                                                                                    {std::string("A\0B", 3), "x"},
                                                                                    {"A", std::string("x\0y", 3)},
                                                                                    {"ORBIT_RUN_ID", "x"}}) {
    Order order = an_order();
    order.runtime_env = {{name, value}};
    const auto made = workload_environment(order, "/b");
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(made.error().field.starts_with("runtime_env."));
  }
}

TEST_F(Facts, X5_JournalIsCutAtItsFirstBrokenLine) {
  JournalRecord record;
  record.seq = 1;
  const std::string first = json::encode(record) + "\n";
  record.seq = 2;
  const std::string second = json::encode(record) + "\n";
  record.seq = 4;
  const std::string gap = json::encode(record) + "\n";
  for (const auto& [bytes, good] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {first, first},
                                                        {first + second, first + second},
                                                        {first + second.substr(0, second.size() - 1), first},
                                                        {first + "garbage\n" + second, first},
                                                        {first + gap, first},
                                                        {first + std::string(100, '\0'), first},
                                                        {second, ""}}) {
    put(root / "journal.jsonl", bytes);
    auto journal = Journal::open(root);
    ASSERT_TRUE(journal);
    EXPECT_EQ(slurp(root / "journal.jsonl"), good);
    EXPECT_EQ(journal->cut_bytes(), static_cast<std::int64_t>(bytes.size() - good.size()));
    journal->append(JournalRecord{});
    ASSERT_TRUE(journal->sync());
    const auto again = Journal::open(root);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->cut_bytes(), 0);
    EXPECT_EQ(again->past().size(), journal->past().size() + 1);
  }
}

}  // namespace
}  // namespace orbit::runner
