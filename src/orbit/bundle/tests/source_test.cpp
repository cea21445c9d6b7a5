#include "orbit/bundle/source.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "orbit/base/text.hpp"
#include "orbit/bundle/glob.hpp"
#include "support.hpp"

namespace orbit::bundle {
namespace {

class SourceTest : public TempTest {
 protected:
  // Real git, with nothing of this machine's settings.
  void git(const std::string& folder, const std::string& arguments) const {
    const std::string command =
        "cd " + shell_quote(at(folder).string()) +
        " && env -i PATH=\"$PATH\" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a "
        "GIT_AUTHOR_EMAIL=a@b "
        "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b git -c protocol.file.allow=always -c init.defaultBranch=main " +
        arguments + " >" + shell_quote(at("git.log").string()) + " 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << arguments << "\n" << get(at("git.log"));
  }
  void make_repository(const std::string& folder = "repo") const {
    fs::create_directories(at(folder));
    git(folder, "init -q");
    put(folder + "/train.py", "#!/usr/bin/env python3\nprint(1)\n", 0755);
    put(folder + "/lib/model.py", "model\n");
    put(folder + "/conf/a.yaml", "lr: 1.0\n");
    put(folder + "/requirements.lock", "numpy==1\n");
    put(folder + "/.gitignore", "__pycache__/\n*.log\n");
    fs::create_symlink("lib/model.py", at(folder + "/model_link.py"));
    commit(folder);
  }
  void commit(const std::string& folder) const {
    git(folder, "add -A");
    git(folder, "commit -q -m change");
  }
  Result<Source> read(const std::string& source, const std::optional<std::string>& revision = {},
                      bool allow_dirty = false, const std::vector<std::string>& key_files = {},
                      const Limits& limits = {}) const {
    SourceRequest request;
    request.source = source;
    request.revision = revision;
    request.allow_dirty = allow_dirty;
    request.key_files = key_files;
    request.work = at("work");
    return read_source(request, limits);
  }
  Result<Source> read_folder(const std::string& folder, const std::optional<std::string>& revision = {},
                             bool allow_dirty = false) const {
    return read(at(folder).string(), revision, allow_dirty);
  }
  static std::vector<std::string> paths(const Source& source) {
    std::vector<std::string> out;
    for (const SourceFile& file : source.files) out.push_back(file.entry.path);
    return out;
  }
  static Digest digest_of(const Source& source) {
    std::vector<FileEntry> files;
    for (const SourceFile& file : source.files) files.push_back(file.entry);
    JobSpec job = small_job();
    job.params["lr"] = "1.0";
    return assemble(job, {"./train.py"}, "--resume", files).value().digest;
  }
  std::string content(const Source& source, const std::string& path) const {
    for (const SourceFile& file : source.files)
      if (file.entry.path == path) return file.from.empty() ? file.bytes : get(file.from);
    return "<none>";
  }
};

// The requirement itself: two clones of one commit, two folders, two umasks, clutter: one digest.
TEST_F(SourceTest, R5TwoClonesOfOneCommitGiveOneDigest) {
  make_repository();
  const mode_t old = ::umask(0022);
  git(".", "clone -q repo one");
  ::umask(0077);
  git(".", "clone -q repo 'two other'");
  put("two other/__pycache__/train.pyc", "clutter");
  put("two other/run.log", "clutter");
  put("two other/lib/empty.log", "");
  const auto one = read_folder("one");
  ::umask(0002);
  const auto two = read_folder("two other");
  ::umask(old);
  ASSERT_TRUE(one) << error_of(one);
  ASSERT_TRUE(two) << error_of(two);
  EXPECT_NE(mode_of(at("one/train.py")), mode_of(at("two other/train.py")));
  EXPECT_EQ(digest_of(*one), digest_of(*two));
  EXPECT_EQ(one->revision.commit, two->revision.commit);
  EXPECT_EQ(one->revision.commit->size(), 40U);
  EXPECT_FALSE(one->revision.dirty);
  EXPECT_FALSE(one->revision.patch);
  EXPECT_EQ(paths(*one), (std::vector<std::string>{"inputs/code/.gitignore", "inputs/code/conf/a.yaml",
                                                   "inputs/code/lib/model.py", "inputs/code/model_link.py",
                                                   "inputs/code/requirements.lock", "inputs/code/train.py"}));
  EXPECT_TRUE(one->files[5].entry.executable);
  EXPECT_FALSE(one->files[0].entry.executable);
  EXPECT_EQ(content(*one, "inputs/code/model_link.py"), "model\n");
  // A clone by URL is the same again.
  const auto url = read("file://" + at("repo").string());
  ASSERT_TRUE(url) << error_of(url);
  EXPECT_EQ(digest_of(*url), digest_of(*one));
}

TEST_F(SourceTest, R5FrozenIsWhatGitStoresNotWhatItCheckedOut) {
  make_repository();
  put("repo/.gitattributes", "*.txt text eol=crlf\n*.keep export-ignore\n*.id ident\n");
  put("repo/dos.txt", "a\r\nb\r\n");
  put("repo/x.keep", "kept");
  put("repo/v.id", "$Id$\n");
  commit("repo");
  fs::remove(at("repo/dos.txt"));
  fs::remove(at("repo/v.id"));
  git("repo", "checkout -q -- dos.txt v.id");
  EXPECT_EQ(get(at("repo/dos.txt")), "a\r\nb\r\n");
  EXPECT_NE(get(at("repo/v.id")), "$Id$\n");
  const auto source = read_folder("repo");
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_EQ(content(*source, "inputs/code/dos.txt"), "a\nb\n");
  EXPECT_EQ(content(*source, "inputs/code/x.keep"), "kept");
  EXPECT_EQ(content(*source, "inputs/code/v.id"), "$Id$\n");
}

TEST_F(SourceTest, R1DirtyTreeIsRefusedNamingTheFiles) {
  make_repository();
  put("repo/train.py", "changed", 0755);
  put("repo/lib/new file.py", "new");
  fs::remove(at("repo/conf/a.yaml"));
  put("repo/staged.py", "s");
  git("repo", "add staged.py");
  const auto source = read_folder("repo");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().field, "source");
  EXPECT_EQ(source.error().code, ErrorCode::invalid_argument);
  for (const std::string words :
       {"modified train.py", "untracked lib/new file.py", "deleted conf/a.yaml", "added staged.py"})
    EXPECT_NE(source.error().message.find(words), std::string::npos) << source.error().message;
  EXPECT_NE(source.error().hint.find("--allow-dirty"), std::string::npos);
  for (int i = 0; i < 10; ++i) put("repo/many" + std::to_string(i), "x");
  EXPECT_NE(read_folder("repo").error().message.find("and 9 more"), std::string::npos) << error_of(read_folder("repo"));
}

TEST_F(SourceTest, R1OnlyARunBitChangedIsDirtyToo) {
  make_repository();
  ASSERT_EQ(::chmod(at("repo/train.py").c_str(), 0644), 0);
  EXPECT_FALSE(read_folder("repo"));
  const auto source = read_folder("repo", {}, true);
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_NE(content(*source, "inputs/patch.diff").find("old mode 100755"), std::string::npos);
}

TEST_F(SourceTest, R1AllowDirtyFreezesFilesAndAPatchThatApplies) {
  make_repository();
  const Digest clean = digest_of(read_folder("repo").value());
  put("repo/train.py", "#!/bin/sh\nchanged\n", 0755);
  put("repo/lib/new.py", "new\n");
  put("repo/weights.bin", std::string("\0\1\2\xff", 4));
  put("repo/ignored.log", "clutter");
  fs::remove(at("repo/conf/a.yaml"));
  const std::string index = get(at("repo/.git/index"));
  const auto source = read_folder("repo", {}, true);
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_EQ(get(at("repo/.git/index")), index);  // the repository is only read
  EXPECT_EQ(paths(*source),
            (std::vector<std::string>{"inputs/code/.gitignore", "inputs/code/lib/model.py", "inputs/code/lib/new.py",
                                      "inputs/code/model_link.py", "inputs/code/requirements.lock",
                                      "inputs/code/train.py", "inputs/code/weights.bin", "inputs/patch.diff"}));
  EXPECT_EQ(content(*source, "inputs/code/train.py"), "#!/bin/sh\nchanged\n");
  EXPECT_TRUE(source->revision.dirty);
  ASSERT_TRUE(source->revision.patch);
  EXPECT_EQ(*source->revision.patch, Sha256::of(content(*source, "inputs/patch.diff")));
  EXPECT_NE(digest_of(*source), clean);
  // The patch on a clean clone gives the same files.
  git(".", "clone -q repo clone");
  put("patch.diff", content(*source, "inputs/patch.diff"));
  git("clone", "apply --index ../patch.diff");
  git("clone", "commit -q -m applied");
  const auto applied = read_folder("clone");
  ASSERT_TRUE(applied) << error_of(applied);
  ASSERT_EQ(applied->files.size() + 1, source->files.size());
  for (std::size_t i = 0; i < applied->files.size(); ++i)
    EXPECT_EQ(applied->files[i].entry.sha256, source->files[i].entry.sha256);
  // The same changes elsewhere: the same digest.
  git(".", "clone -q repo again");
  put("again/train.py", "#!/bin/sh\nchanged\n", 0700);
  put("again/lib/new.py", "new\n", 0600);
  put("again/weights.bin", std::string("\0\1\2\xff", 4));
  fs::remove(at("again/conf/a.yaml"));
  EXPECT_EQ(digest_of(read_folder("again", {}, true).value()), digest_of(*source));
}

TEST_F(SourceTest, AllowDirtyOnACleanTreeIsClean) {
  make_repository();
  const auto source = read_folder("repo", {}, true);
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_FALSE(source->revision.dirty);
  EXPECT_EQ(digest_of(*source), digest_of(read_folder("repo").value()));
}

TEST_F(SourceTest, OnlyTheFolderCountsInABiggerRepository) {
  fs::create_directories(at("big"));
  git("big", "init -q");
  put("big/README", "r");
  put("big/examples/digits/train.py", "t", 0755);
  put("big/examples/digits/data/x", "x");
  put("big/examples/digits-other/y", "y");
  commit("big");
  put("big/README", "changed outside of the folder");
  put("big/examples/untracked", "outside too");
  const auto source = read_folder("big/examples/digits");
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_EQ(paths(*source), (std::vector<std::string>{"inputs/code/data/x", "inputs/code/train.py"}));
  EXPECT_FALSE(source->revision.dirty);
  put("big/examples/digits/data/x", "changed inside");
  const auto dirty = read_folder("big/examples/digits");
  ASSERT_FALSE(dirty);
  EXPECT_NE(dirty.error().message.find("modified data/x"), std::string::npos) << dirty.error().message;
  const auto allowed = read_folder("big/examples/digits", {}, true);
  ASSERT_TRUE(allowed) << error_of(allowed);
  EXPECT_EQ(content(*allowed, "inputs/code/data/x"), "changed inside");
  const std::string patch = content(*allowed, "inputs/patch.diff");
  EXPECT_NE(patch.find("examples/digits/data/x"), std::string::npos);
  EXPECT_EQ(patch.find("README"), std::string::npos);
  EXPECT_EQ(patch.find("untracked"), std::string::npos);
}

TEST_F(SourceTest, UntrackedAndIgnoredFoldersInsideARepository) {
  make_repository();
  put("repo/fresh/train.py", "t", 0755);
  EXPECT_FALSE(read_folder("repo/fresh"));
  EXPECT_EQ(paths(read_folder("repo/fresh", {}, true).value()),
            (std::vector<std::string>{"inputs/code/train.py", "inputs/patch.diff"}));
  put("repo/__pycache__/train.py", "t", 0755);
  const auto ignored = read_folder("repo/__pycache__");
  ASSERT_TRUE(ignored) << error_of(ignored);
  EXPECT_EQ(paths(*ignored), (std::vector<std::string>{"inputs/code/train.py"}));
  EXPECT_FALSE(ignored->revision.commit);
}

TEST_F(SourceTest, RevisionsAreFrozenWhateverTheWorkTreeHolds) {
  make_repository();
  const Digest first = digest_of(read_folder("repo").value());
  git("repo", "tag v1");
  git("repo", "branch old");
  put("repo/train.py", "second", 0755);
  commit("repo");
  put("repo/train.py", "uncommitted", 0755);
  for (const std::string revision : {"v1", "old", "HEAD~1", "HEAD^"}) {
    const auto source = read_folder("repo", revision);
    ASSERT_TRUE(source) << error_of(source);
    EXPECT_EQ(digest_of(*source), first) << revision;
    EXPECT_FALSE(source->revision.dirty);
    EXPECT_EQ(
        digest_of(
            read("file://" + at("repo").string(), revision == "old" || revision == "v1" ? revision : "old").value()),
        first);
  }
  const std::string commit_id = *read_folder("repo", "v1")->revision.commit;
  EXPECT_EQ(read_folder("repo", commit_id.substr(0, 12))->revision.commit, commit_id);
  EXPECT_EQ(content(read_folder("repo", "HEAD").value(), "inputs/code/train.py"), "second");
  EXPECT_EQ(read_folder("repo", "nothing").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_folder("repo", "nothing").error().field, "revision");
  EXPECT_EQ(read("file://" + at("repo").string(), "nothing").error().field, "revision");
}

TEST_F(SourceTest, X4RevisionsAndUrlsThatAreOptionsOrProgramsAreRefused) {
  make_repository();
  for (const std::string revision :
       {"", "--help", "-x", "a..b", "a b", "HEAD:train.py", "a\nb", "@{upstream}", "$(id)"}) {
    const auto source = read_folder("repo", revision);
    ASSERT_FALSE(source) << revision;
    EXPECT_EQ(source.error().field, "revision");
  }
  for (const std::string url : {"http://example.invalid/x", "git://example.invalid/x", "ext::sh -c id", "fd::7",
                                "ftp://example.invalid/x", "HTTPS://example.invalid/x"}) {
    const auto source = read(url);
    ASSERT_FALSE(source) << url;
    EXPECT_EQ(source.error().code, ErrorCode::unsupported) << error_of(source);
    EXPECT_EQ(source.error().field, "source");
  }
  for (const std::string url : {"", "https://token@example.invalid/x", "https://user:password@example.invalid/x",
                                "ssh://-oProxyCommand=id/x", "a\nb"})
    EXPECT_EQ(read(url).error().field, "source") << url;
  EXPECT_EQ(error_of(read("https://user:password@example.invalid/x")).find("user:password"), std::string::npos);
  EXPECT_EQ(read("--upload-pack=id").error().code, ErrorCode::not_found);  // a folder of that name
  EXPECT_FALSE(read("file://" + at("nowhere").string()));
  EXPECT_EQ(read("file://" + at("nowhere").string()).error().field, "source");
}

TEST_F(SourceTest, PlainFolderIsFrozenAsItLies) {
  put("plain/train.py", "t", 0755);
  put("plain/__pycache__/x", "x");
  const auto source = read_folder("plain");
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_EQ(paths(*source), (std::vector<std::string>{"inputs/code/__pycache__/x", "inputs/code/train.py"}));
  EXPECT_FALSE(source->revision.commit);
  EXPECT_FALSE(source->revision.dirty);
  EXPECT_EQ(read_folder("plain", "v1").error().field, "revision");
  EXPECT_EQ(read_folder("none").error().field, "source");
  EXPECT_EQ(read_folder("plain/train.py").error().code, ErrorCode::invalid_argument);
}

// A repository that git will not read must not silently become a plain folder.
TEST_F(SourceTest, BrokenRepositoryIsAnError) {
  put("broken/train.py", "t", 0755);
  put("broken/.git", "gitdir: /nowhere");
  const auto source = read_folder("broken");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().field, "source");
  make_repository();
  if (::geteuid() == 0) {
    const std::string chown = "chown -R 12345 " + shell_quote(at("repo").string());
    ASSERT_EQ(std::system(chown.c_str()), 0);
    const auto foreign = read_folder("repo");
    ASSERT_FALSE(foreign);
    EXPECT_NE(foreign.error().hint.find("another user"), std::string::npos) << error_of(foreign);
    // What the user told git to trust is trusted; nothing else of those settings counts.
    put("gitconfig", "[safe]\n\tdirectory = " + at("repo").string() +
                         "\n[core]\n\texcludesFile = /dev/null\n\tfsmonitor = touch " + at("ran").string() + "\n");
    ::setenv("GIT_CONFIG_GLOBAL", at("gitconfig").c_str(), 1);
    const auto trusted = read_folder("repo");
    ::unsetenv("GIT_CONFIG_GLOBAL");
    EXPECT_TRUE(trusted) << error_of(trusted);
    EXPECT_FALSE(fs::exists(at("ran")));
  }
}

TEST_F(SourceTest, RepositoryWithoutCommits) {
  fs::create_directories(at("empty"));
  git("empty", "init -q");
  EXPECT_TRUE(read_folder("empty")->files.empty());
  EXPECT_EQ(read("file://" + at("empty").string()).error().code, ErrorCode::not_found);
  put("empty/train.py", "t", 0755);
  EXPECT_FALSE(read_folder("empty"));
  const auto source = read_folder("empty", {}, true);
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_TRUE(source->revision.dirty);
  EXPECT_FALSE(source->revision.commit);
  EXPECT_EQ(paths(*source), (std::vector<std::string>{"inputs/code/train.py", "inputs/patch.diff"}));
}

TEST_F(SourceTest, SubmodulesAreAnErrorThatNamesThem) {
  make_repository("library");
  make_repository();
  git("repo", "submodule add -q ../library vendor/library");
  commit("repo");
  const auto source = read_folder("repo");
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("vendor/library"), std::string::npos) << error_of(source);
  EXPECT_NE(source.error().message.find("submodule"), std::string::npos);
}

TEST_F(SourceTest, X4LinksOfARepositoryObeyTheSameRule) {
  make_repository();
  fs::create_symlink("/etc/passwd", at("repo/link"));
  commit("repo");
  const auto out = read_folder("repo");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().field, "link");
  EXPECT_NE(out.error().message.find("leaves"), std::string::npos);
  fs::remove(at("repo/link"));
  fs::create_symlink("link", at("repo/link"));
  commit("repo");
  EXPECT_EQ(read_folder("repo").error().field, "link");
}

// X4: a tree that no honest git would make: a link and a file below it, to be written through the link.
TEST_F(SourceTest, X4CraftedTreeCannotWriteThroughItsOwnLink) {
  make_repository();
  fs::create_directories(at("target"));
  put("payload", "owned");
  put("linktext", at("target").string());
  const std::string script =
      "cd " + shell_quote(at("repo").string()) +
      " && b=$(git hash-object -w ../payload) && l=$(git hash-object -w ../linktext)"
      " && s=$(printf '100644 blob %s\\tx\\n' $b | git mktree)"
      " && t=$(printf '120000 blob %s\\td\\n040000 tree %s\\td\\n' $l $s | git mktree 2>/dev/null || true)"
      " && [ -n \"$t\" ] && c=$(git -c user.name=a -c user.email=a@b commit-tree -m x $t) && git update-ref "
      "refs/heads/evil $c";
  ASSERT_EQ(std::system(script.c_str()), 0);
  const auto source = read_folder("repo", "evil");
  EXPECT_FALSE(fs::exists(at("target/x")));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("symbolic link"), std::string::npos) << error_of(source);
}

TEST_F(SourceTest, X4HostileNamesOfARepositoryAreRefused) {
  make_repository();
  put("repo/new\nline", "x");
  commit("repo");
  const auto source = read_folder("repo");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().field, "new\\x0aline");
  fs::remove(at("repo/new\nline"));
  put("repo/\xff\xfe", "x");
  commit("repo");
  EXPECT_EQ(read_folder("repo").error().field, "\\xff\\xfe");
}

TEST_F(SourceTest, LimitsAreCheckedBeforeAnythingIsWritten) {
  make_repository();
  put("repo/big", std::string(10'000, 'x'));
  commit("repo");
  Limits limits;
  limits.max_total_bytes = 9'000;
  const auto large = read(at("repo").string(), {}, false, {}, limits);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
  EXPECT_EQ(large.error().field, "big");
  limits = {};
  limits.max_files = 3;
  EXPECT_EQ(read(at("repo").string(), {}, false, {}, limits).error().code, ErrorCode::too_large);
}

// X4: settings of the repository must not run programs when somebody merely submits it.
TEST_F(SourceTest, X4ProgramsOfTheRepositoryAreNotRun) {
  make_repository();
  const std::string touch = "touch " + at("ran").string();
  git("repo", "config core.fsmonitor " + shell_quote(touch));
  git("repo", "config diff.external " + shell_quote(touch));
  git("repo", "config core.sshCommand " + shell_quote(touch));
  git("repo", "config core.pager " + shell_quote(touch));
  git("repo", "config core.editor " + shell_quote(touch));
  for (const std::string hook :
       {"post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"})
    put("repo/.git/hooks/" + hook, "#!/bin/sh\n" + touch + "\n", 0755);
  fs::remove(at("ran"));
  put("repo/train.py", "changed", 0755);
  ASSERT_TRUE(read_folder("repo", {}, true));
  ASSERT_TRUE(read_folder("repo", "HEAD"));
  ASSERT_TRUE(read("file://" + at("repo").string()));
  EXPECT_FALSE(fs::exists(at("ran")));
}

TEST_F(SourceTest, EnvironmentOfTheCallerDoesNotReachGit) {
  make_repository();
  make_repository("other");
  put("other/extra", "x");
  commit("other");
  const Digest expected = digest_of(read_folder("repo").value());
  ::setenv("GIT_DIR", at("other/.git").c_str(), 1);
  ::setenv("GIT_WORK_TREE", at("other").c_str(), 1);
  ::setenv("GIT_INDEX_FILE", at("nothing").c_str(), 1);
  const auto source = read_folder("repo");
  ::unsetenv("GIT_DIR");
  ::unsetenv("GIT_WORK_TREE");
  ::unsetenv("GIT_INDEX_FILE");
  ASSERT_TRUE(source) << error_of(source);
  EXPECT_EQ(digest_of(*source), expected);
}

TEST_F(SourceTest, R1KeyFilesAreFingerprinted) {
  make_repository();
  const auto source = read(at("repo").string(), {}, false, {"./train.py", "*.lock", "conf/**", "missing.toml"});
  ASSERT_TRUE(source) << error_of(source);
  const auto& keys = source->revision.key_files;
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys.at("requirements.lock"), Sha256::of("numpy==1\n"));
  EXPECT_EQ(keys.at("conf/a.yaml"), Sha256::of("lr: 1.0\n"));
  EXPECT_EQ(keys.count("train.py"), 1U);
}

TEST(Glob, MatchesAsWritten) {
  const auto yes = [](const char* pattern, const char* path) {
    EXPECT_TRUE(glob_matches(pattern, path)) << pattern << " " << path;
  };
  const auto no = [](const char* pattern, const char* path) {
    EXPECT_FALSE(glob_matches(pattern, path)) << pattern << " " << path;
  };
  yes("train.py", "train.py");
  no("train.py", "src/train.py");
  no("train.py", "train.pyc");
  yes("*.py", "train.py");
  no("*.py", "src/train.py");
  yes("src/*.py", "src/a.py");
  no("src/*.py", "src/b/a.py");
  yes("**/*.py", "a.py");
  yes("**/*.py", "x/y/a.py");
  no("**/*.py", "x/y/a.pyc");
  yes("conf/**", "conf/a/b.yaml");
  no("conf/**", "config/a");
  yes("a/**/b", "a/b");
  yes("a/**/b", "a/x/y/b");
  no("a/**/b", "a/xb");
  yes("?.py", "a.py");
  no("?.py", "ab.py");
  no("?b", "/b");
  yes("*", "a");
  no("*", "a/b");
  yes("**", "a/b");
  no("", "a");
  yes("", "");
  yes("[a]", "[a]");
  // Nothing to be slowed down by.
  const std::string stars(200, '*');
  EXPECT_FALSE(glob_matches("a*a*a*a*a*a*a*a*a*a*a*b", std::string(1000, 'a')));
  EXPECT_TRUE(glob_matches(stars, std::string(1000, 'a')));
}

}  // namespace
}  // namespace orbit::bundle
