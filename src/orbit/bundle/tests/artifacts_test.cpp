#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "orbit/base/json.hpp"
#include "support.hpp"

namespace orbit::bundle {
namespace {

class Artifacts : public TempTest {
 protected:
  void SetUp() override { fs::create_directories(at("artifacts")); }
  ArtifactManifest listed(bool without_digests = false) const {
    auto manifest = list_artifacts(at("artifacts"), without_digests);
    EXPECT_TRUE(manifest) << error_of(manifest);
    return manifest ? *manifest : ArtifactManifest{};
  }
};

// R14
TEST_F(Artifacts, R14ListsFilesAndRecordsLinksWithoutFollowing) {
  put("artifacts/stdout", "hello\n");
  put("artifacts/checkpoints/10/model", "m", 0600);
  put("secret", "outside");
  fs::create_symlink("../secret", at("artifacts/latest"));
  fs::create_directory_symlink("/", at("artifacts/root"));
  fs::create_symlink("nothing", at("artifacts/dangling"));
  const ArtifactManifest manifest = listed();
  ASSERT_EQ(manifest.artifacts.size(), 5U);
  EXPECT_EQ(manifest.artifacts[0].path, "checkpoints/10/model");
  EXPECT_EQ(manifest.artifacts[0].mode, 0600);
  EXPECT_EQ(manifest.artifacts[0].size_bytes, 1);
  EXPECT_EQ(manifest.artifacts[0].sha256, Sha256::of("m"));
  EXPECT_EQ(manifest.artifacts[2].path, "latest");
  EXPECT_EQ(manifest.artifacts[2].kind, ArtifactKind::symlink);
  EXPECT_EQ(manifest.artifacts[2].target, "../secret");
  EXPECT_TRUE(manifest.artifacts[2].sha256.empty());
  EXPECT_EQ(manifest.artifacts[3].target, "/");
  EXPECT_TRUE(manifest.skipped.empty());
  const std::string text = artifact_manifest_text(manifest);
  const auto parsed = parse_artifact_manifest(text);
  ASSERT_TRUE(parsed) << error_of(parsed);
  EXPECT_EQ(artifact_manifest_text(*parsed), text);
}

TEST_F(Artifacts, WithoutDigestsNothingIsRead) {
  put("artifacts/growing", "x");
  const ArtifactManifest manifest = listed(true);
  ASSERT_EQ(manifest.artifacts.size(), 1U);
  EXPECT_TRUE(manifest.artifacts[0].sha256.empty());
  EXPECT_TRUE(parse_artifact_manifest(artifact_manifest_text(manifest)));
}

TEST_F(Artifacts, X4HostileNamesAndKindsAreSkippedAndNamed) {
  put("artifacts/good", "x");
  put("artifacts/new\nline", "x");
  put("artifacts/bad\xff/inside", "x");
  put("artifacts/back\\slash", "x");
  ASSERT_EQ(::mkfifo(at("artifacts/fifo").c_str(), 0644), 0);
  fs::create_symlink("target\xff", at("artifacts/link"));
  std::string deep = "artifacts";
  for (int i = 0; i < 100; ++i) deep += "/d";
  put(deep + "/x", "x");
  const ArtifactManifest manifest = listed();
  ASSERT_EQ(manifest.artifacts.size(), 1U);
  EXPECT_EQ(manifest.artifacts[0].path, "good");
  ASSERT_EQ(manifest.skipped.size(), 6U);
  EXPECT_EQ(manifest.skipped[0].rfind("back\\slash (", 0), 0U);
  EXPECT_EQ(manifest.skipped[1].rfind("bad\\xff/inside (", 0), 0U);
  EXPECT_EQ(manifest.skipped[2].rfind("d/d/d", 0), 0U);
  EXPECT_EQ(manifest.skipped[3], "fifo (a FIFO)");
  EXPECT_EQ(manifest.skipped[4].rfind("link (", 0), 0U);
  EXPECT_EQ(manifest.skipped[5].rfind("new\\x0aline (", 0), 0U);
  EXPECT_TRUE(parse_artifact_manifest(artifact_manifest_text(manifest)));
}

TEST_F(Artifacts, X4TheDirectoryItselfMayBeNoLink) {
  fs::rename(at("artifacts"), at("moved"));
  fs::create_directory_symlink("/etc", at("artifacts"));
  EXPECT_EQ(list_artifacts(at("artifacts"), true).error().code, ErrorCode::refused);
  fs::remove(at("artifacts"));
  EXPECT_EQ(list_artifacts(at("artifacts"), true).error().code, ErrorCode::not_found);
}

// X4: a workload that swaps a file for a link while we look: its content, or an error, never the outside.
TEST_F(Artifacts, X4SwappedFilesNeverShowTheOutside) {
  put("secret", "outside");
  put("artifacts/dir/x", "inside");
  put("outside/x", "outside");
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) {
      fs::create_symlink("../secret", at("artifacts/link"));
      fs::rename(at("artifacts/link"), at("artifacts/swapped"));
      put("artifacts/file", "inside");
      fs::rename(at("artifacts/file"), at("artifacts/swapped"));
      fs::rename(at("artifacts/dir"), at("kept"));
      fs::create_directory_symlink("../outside", at("artifacts/dir"));
      fs::remove(at("artifacts/dir"));
      fs::rename(at("kept"), at("artifacts/dir"));
    }
  });
  int seen = 0;
  for (int i = 0; i < 1'000'000 && (i < 500 || seen < 100); ++i) {
    const auto manifest = list_artifacts(at("artifacts"), false);
    if (!manifest) {
      EXPECT_EQ(manifest.error().code, ErrorCode::conflict) << error_of(manifest);
      continue;
    }
    for (const Artifact& artifact : manifest->artifacts) {
      if (artifact.kind != ArtifactKind::file) continue;
      ++seen;
      EXPECT_NE(artifact.sha256, Sha256::of("outside")) << artifact.path;
    }
  }
  stop = true;
  swapper.join();
  EXPECT_GE(seen, 100);
}

TEST_F(Artifacts, CheckpointFilesAreListedFromTheirDirectory) {
  put("artifacts/checkpoints/10/COMPLETE", "");
  put("artifacts/checkpoints/10/sub/w", "weights", 0755);
  put("artifacts/checkpoints/11/other", "x");
  const auto files = list_files(at("artifacts"), "checkpoints/10");
  ASSERT_TRUE(files) << error_of(files);
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].path, "COMPLETE");
  EXPECT_EQ((*files)[1].path, "sub/w");
  EXPECT_EQ((*files)[1].sha256, Sha256::of("weights"));
  EXPECT_TRUE((*files)[1].executable);
  EXPECT_EQ(list_files(at("artifacts/checkpoints/10"), "").value().size(), 2U);
  EXPECT_EQ(digest_of_list(*files), digest_of_list(list_files(at("artifacts/checkpoints/10"), "").value()));
}

TEST_F(Artifacts, X4CheckpointDirectoriesThatLeadOutAreRefused) {
  put("artifacts/checkpoints/10/w", "w");
  put("outside/w", "w");
  fs::create_directory_symlink("../../outside", at("artifacts/checkpoints/11"));
  for (const std::string below : {"..", "../outside", "/etc", "checkpoints/../../outside", "checkpoints//10",
                                  "checkpoints/11", "checkpoints/10/w"})
    EXPECT_FALSE(list_files(at("artifacts"), below)) << below;
  EXPECT_EQ(list_files(at("artifacts"), "checkpoints/12").error().code, ErrorCode::not_found);
  fs::create_symlink("w", at("artifacts/checkpoints/10/link"));
  const auto link = list_files(at("artifacts"), "checkpoints/10");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().field, "checkpoints/10/link");
}

TEST(ArtifactManifestText, X4HostileManifestsAreRefused) {
  const auto refused = [](std::vector<Artifact> artifacts) {
    ArtifactManifest manifest;
    manifest.artifacts = std::move(artifacts);
    return error_of(parse_artifact_manifest(artifact_manifest_text(manifest)));
  };
  Artifact a;
  a.path = "a";
  a.sha256 = Sha256::of("");
  Artifact b = a;
  b.path = "b";
  EXPECT_EQ(refused({a, b}), "no error");
  EXPECT_NE(refused({b, a}).find("out of order"), std::string::npos);
  EXPECT_NE(refused({a, a}).find("twice"), std::string::npos);
  for (const std::string path : {"../a", "/a", "", "a//b", "a\nb"}) {
    Artifact bad = a;
    bad.path = path;
    EXPECT_NE(refused({bad}), "no error") << path;
  }
  Artifact link = a;
  link.kind = ArtifactKind::symlink;
  EXPECT_NE(refused({link}), "no error");
  link.target = "x";
  EXPECT_NE(refused({link}), "no error");
  link.sha256 = {};
  EXPECT_EQ(refused({link}), "no error");
  Artifact negative = a;
  negative.size_bytes = -1;
  EXPECT_NE(refused({negative}), "no error");
  negative = a;
  negative.mode = 010000;
  EXPECT_NE(refused({negative}), "no error");
  for (const std::string text : {"", "[]", "{}", "{\"schema\":2,\"artifacts\":[],\"skipped\":[]}"})
    EXPECT_FALSE(parse_artifact_manifest(text)) << text;
}

}  // namespace
}  // namespace orbit::bundle
