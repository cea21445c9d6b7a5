#include <atomic>
#include <cerrno>

#include "support.hpp"

namespace orbit::bundle {
namespace {

class Materialise : public TempTest {
 protected:
  Materialise() : TempTest(fast_directory()), blobs_(at("blobs")) {
    const std::string big(200'000, 'b');
    const std::map<std::string, std::pair<std::string, bool>> contents{{"inputs/code/train.py", {"#!/bin/sh\n", true}},
                                                                       {"inputs/code/pkg/a.py", {"a", false}},
                                                                       {"inputs/code/big.bin", {big, false}},
                                                                       {"inputs/code/empty", {"", false}}};
    std::vector<FileEntry> files;
    for (const auto& [path, content] : contents) {
      files.push_back(entry_of(path, content.first, content.second));
      keep(content.first);
    }
    bundle_ = assemble(small_job(), {"./train.py"}, "", files).value();
    for (const auto& [path, text] : bundle_.generated) keep(text);
    keep(manifest_text(bundle_.manifest));
  }
  void keep(const std::string& bytes) { EXPECT_TRUE(blobs_.put(Sha256::of(bytes), bytes)); }
  Result<void> materialised() { return materialise(bundle_.digest, blobs_, at("run")); }
  std::vector<Finding> findings() const { return verify(at("run"), bundle_.digest).value(); }
  std::vector<std::string> top_names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(at("run"))) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  void expect_whole() const {
    EXPECT_TRUE(findings().empty()) << findings()[0].path << ": " << findings()[0].problem;
    EXPECT_EQ(top_names(),
              (std::vector<std::string>{"artifacts", "bundle.json", "inputs", "job.json", "runtime", "scripts"}));
  }

  DirectoryBlobs blobs_;
  Bundle bundle_;
};

TEST_F(Materialise, R5WritesEverythingWithExactModesWhateverTheUmask) {
  const mode_t old = ::umask(0077);
  const auto done = materialised();
  ::umask(old);
  ASSERT_TRUE(done) << error_of(done);
  expect_whole();
  EXPECT_EQ(get(at("run/inputs/code/big.bin")), std::string(200'000, 'b'));
  EXPECT_EQ(mode_of(at("run/inputs/code/train.py")), 0755U);
  EXPECT_EQ(mode_of(at("run/inputs/code/pkg/a.py")), 0644U);
  EXPECT_EQ(mode_of(at("run/inputs/code/pkg")), 0755U);
  EXPECT_EQ(mode_of(at("run/scripts/entrypoint.sh")), 0755U);
  EXPECT_EQ(Sha256::of(get(at("run/bundle.json"))), bundle_.digest);
  EXPECT_EQ(fs::hard_link_count(at("run/inputs/code/big.bin")), 1U);
  ASSERT_TRUE(materialised());  // idempotent
  expect_whole();
}

TEST_F(Materialise, OldSizeZeroAndNoCodeAtAll) {
  JobSpec job = small_job();
  job.code_entry.clear();
  const Bundle bare = assemble(job, {"/bin/true"}, "", {}).value();
  for (const auto& [path, text] : bare.generated) keep(text);
  keep(manifest_text(bare.manifest));
  ASSERT_TRUE(materialise(bare.digest, blobs_, at("bare")));
  EXPECT_TRUE(fs::is_directory(at("bare/inputs/code")));  // the entrypoint changes into it
  EXPECT_TRUE(verify(at("bare"), bare.digest)->empty());
}

// X5: stopped by a failing operation at every point in turn; the next try makes it whole.
TEST_F(Materialise, X5EveryFailingOperationIsHealedByTheNextTry) {
  int failures = 0;
  for (int nth = 1;; ++nth) {
    ASSERT_TRUE(platform::remove_tree(at("run")));
    std::atomic<int> count = 0;  // several threads copy
    platform::set_fault_hook([&](std::string_view, const std::string&) { return ++count == nth ? ENOSPC : 0; });
    const auto done = materialised();
    platform::set_fault_hook({});
    if (!done) {
      ++failures;
      EXPECT_EQ(done.error().code, ErrorCode::exhausted) << error_of(done);
    }
    const auto again = materialised();
    ASSERT_TRUE(again) << nth << ": " << error_of(again);
    expect_whole();
    if (count < nth) break;
  }
  EXPECT_GT(failures, 30);
}

TEST_F(Materialise, HalfMadeDirectoryOfAnEarlierTryIsMadeAnew) {
  fs::create_directories(at("run"));
  put("run/.orbit-half-made", bundle_.digest.hex());
  put("run/inputs/code/train.py", "torn", 0644);
  put("run/inputs/code/not_ours", "x");
  fs::create_symlink("/etc", at("run/scripts"));  // must not be written through
  const auto done = materialised();
  ASSERT_TRUE(done) << error_of(done);
  expect_whole();
  EXPECT_FALSE(fs::exists("/etc/entrypoint.sh"));
}

TEST_F(Materialise, NeverClearsADirectoryOfSomebodyElse) {
  put("run/thesis.tex", "years of work");
  EXPECT_EQ(materialised().error().code, ErrorCode::conflict);
  EXPECT_EQ(get(at("run/thesis.tex")), "years of work");
  EXPECT_EQ(top_names(), (std::vector<std::string>{"thesis.tex"}));
}

TEST_F(Materialise, AnotherBundleThereIsAConflict) {
  ASSERT_TRUE(materialised());
  const Bundle other = assemble(small_job(), {"./train.py", "--other"}, "",
                                bundle_.manifest.files.empty()
                                    ? std::vector<FileEntry>{}
                                    : std::vector<FileEntry>{entry_of("inputs/code/train.py", "#!/bin/sh\n", true)})
                           .value();
  for (const auto& [path, text] : other.generated) keep(text);
  keep(manifest_text(other.manifest));
  EXPECT_EQ(materialise(other.digest, blobs_, at("run")).error().code, ErrorCode::conflict);
  expect_whole();
  ASSERT_TRUE(platform::remove_tree(at("run")));
  fs::create_directories(at("run"));
  put("run/.orbit-half-made", other.digest.hex());
  EXPECT_EQ(materialised().error().code, ErrorCode::conflict);
}

// X5: neither a small nor a large blob that rotted in the store gets into a run.
TEST_F(Materialise, X5StoredContentThatDoesNotMatchIsRefusedByName) {
  put("blobs/" + Sha256::of("a").hex(), "A");
  const auto small = materialised();
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::corrupt);
  EXPECT_EQ(small.error().field, "inputs/code/pkg/a.py");
  EXPECT_FALSE(fs::exists(at("run/bundle.json")));
  keep("a");
  const std::string big(200'000, 'b');
  put("blobs/" + Sha256::of(big).hex(), std::string(199'999, 'b') + "c");
  const auto large = materialised();
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().field, "inputs/code/big.bin");
  put("blobs/" + Sha256::of(big).hex(), big + "b");
  EXPECT_EQ(materialised().error().code, ErrorCode::corrupt);
  keep(big);
  ASSERT_TRUE(materialised());
  expect_whole();
}

TEST_F(Materialise, X5MissingBlobAndRottenManifestAreErrors) {
  fs::remove(at("blobs/" + Sha256::of("a").hex()));
  const auto missing = materialised();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("pkg/a.py"), std::string::npos) << error_of(missing);
  std::string text = manifest_text(bundle_.manifest);
  text.replace(text.find("big.bin"), 7, "bag.bin");
  put("blobs/" + bundle_.digest.hex(), text);
  EXPECT_EQ(materialised().error().code, ErrorCode::corrupt);
}

TEST_F(Materialise, X4ManifestThatWritesOutsideIsRefusedBeforeAnythingIsWritten) {
  for (const std::string path : {"../evil", "runtime/order.json", "inputs/../../evil"}) {
    const std::string text = manifest_text(BundleManifest{1, {entry_of(path, "a")}});
    keep(text);
    EXPECT_FALSE(materialise(Sha256::of(text), blobs_, at("run"))) << path;
    EXPECT_FALSE(fs::exists(at("run")));
    EXPECT_FALSE(fs::exists(at("evil")));
  }
}

TEST_F(Materialise, ManyFilesAreSyncedTogether) {
  std::vector<FileEntry> files{entry_of("inputs/code/train.py", "#!/bin/sh\n", true)};
  for (int i = 0; i < 400; ++i) files.push_back(entry_of(fmt::format("inputs/code/d{}/f{}", i % 10, i), "a"));
  const Bundle many = assemble(small_job(), {"./train.py"}, "", files).value();
  for (const auto& [path, text] : many.generated) keep(text);
  keep(manifest_text(many.manifest));
  std::atomic<int> syncs = 0;  // materialise writes from more than one thread
  platform::set_fault_hook([&](std::string_view operation, const std::string&) {
    syncs += operation == "fsync" ? 1 : 0;
    return 0;
  });
  ASSERT_TRUE(materialise(many.digest, blobs_, at("many")));
  platform::set_fault_hook({});
  EXPECT_LT(syncs, 10);
  EXPECT_GT(syncs, 0);
  EXPECT_TRUE(verify(at("many"), many.digest)->empty());
}

class Verify : public Materialise {
 protected:
  void SetUp() override { ASSERT_TRUE(materialised()); }
  void expect_only(const std::string& path, const std::string& words) const {
    const auto found = findings();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].path, path);
    EXPECT_NE(found[0].problem.find(words), std::string::npos) << found[0].problem;
  }
};

// R16: one changed byte is found and named.
TEST_F(Verify, R16OneByteIsFound) {
  put("run/inputs/code/pkg/a.py", "A", 0644);
  expect_only("inputs/code/pkg/a.py",
              "changed: digest " + Sha256::of("A").hex() + ", expected " + Sha256::of("a").hex());
}

TEST_F(Verify, R16MissingChangedModeAndReplacedFilesAreFound) {
  fs::remove(at("run/inputs/code/pkg/a.py"));
  expect_only("inputs/code/pkg/a.py", "missing");
  fs::create_symlink("/etc/passwd", at("run/inputs/code/pkg/a.py"));
  expect_only("inputs/code/pkg/a.py", "symbolic link");
  fs::remove(at("run/inputs/code/pkg/a.py"));
  ASSERT_EQ(::mkfifo(at("run/inputs/code/pkg/a.py").c_str(), 0644), 0);
  expect_only("inputs/code/pkg/a.py", "not a regular file");
  fs::remove(at("run/inputs/code/pkg/a.py"));
  put("run/inputs/code/pkg/a.py", "a", 0666);
  expect_only("inputs/code/pkg/a.py", "mode 0666, expected 0644");
  put("run/inputs/code/pkg/a.py", "a", 0644);
  EXPECT_TRUE(findings().empty());
  fs::rename(at("run/inputs/code/pkg"), at("elsewhere"));
  fs::create_directory_symlink(at("elsewhere"), at("run/inputs/code/pkg"));
  ASSERT_FALSE(findings().empty());
}

TEST_F(Verify, R16WhatNobodyFrozeIsFound) {
  put("run/inputs/code/numpy.py", "import os");
  put("run/scripts/new\nline", "x");
  const auto found = findings();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "inputs/code/numpy.py");
  EXPECT_EQ(found[0].problem, "not in the manifest");
  EXPECT_EQ(found[1].path, "scripts/new\\x0aline");
  // What the workload and the runner write is theirs.
  fs::remove(at("run/inputs/code/numpy.py"));
  fs::remove(at("run/scripts/new\nline"));
  put("run/artifacts/stdout", "x");
  put("run/runtime/journal.jsonl", "x");
  EXPECT_TRUE(findings().empty());
}

TEST_F(Verify, R16ChangedManifestIsFound) {
  put("run/bundle.json", get(at("run/bundle.json")) + " ");
  expect_only("bundle.json", "changed: digest");
  fs::remove(at("run/bundle.json"));
  expect_only("bundle.json", "missing");
  EXPECT_EQ(verify(at("none"), bundle_.digest)->at(0).path, "bundle.json");
}

}  // namespace
}  // namespace orbit::bundle
