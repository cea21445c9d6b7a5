#include "orbit/runner/python.hpp"

#include "bench.hpp"

namespace orbit::runner {
namespace {

using test::put;

class Python : public testing::Test {
 protected:
  platform::TempDirectory temp_ = *platform::TempDirectory::make("/tmp", "orbit-python-");
  const std::filesystem::path root = std::filesystem::canonical(temp_.path());
};

TEST_F(Python, N3_PythonIsAskedWithinALimit) {
  put(root / "python3", "#!/bin/sh\n/bin/sleep 1000 & /bin/sleep 1000\n", 0755);
  const auto slow = python_facts({{"PATH", root.string()}}, {}, 200);
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, ErrorCode::unavailable);
  EXPECT_EQ(python_facts({{"PATH", (root / "none").string()}}, {}, 200).error().code, ErrorCode::not_found);
  put(root / "python3", "#!/bin/sh\necho nonsense\n", 0755);
  EXPECT_EQ(python_facts({{"PATH", root.string()}}, {}, 5000).error().code, ErrorCode::io);
  put(root / "python3", "#!/bin/sh\nexit 3\n", 0755);
  EXPECT_EQ(python_facts({{"PATH", root.string()}}, {}, 5000).error().code, ErrorCode::io);
  put(root / "python3", "#!/bin/sh\necho '{\"version\": \"3.10.9\", \"packages\": {\"torch\": \"2.1.0+cu118\"}}'\n",
      0755);
  const auto facts = python_facts({{"PATH", root.string()}}, {"torch", "jax"}, 5000);
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_EQ(facts->version, "3.10.9");
  EXPECT_EQ(facts->packages, (std::map<std::string, std::string>{{"torch", "2.1.0+cu118"}}));
}

// Staged code that calls itself `digits`, and a machine on which something of that name is installed for the user.
class StagedCodeTest : public Python {
 protected:
  StagedCodeTest() {
    put(code / "pyproject.toml", "[build-system]\nrequires = []\n\n[project]\nname = \"digits\"\nversion = \"2\"\n");
    put(code / "train.py", "#!/usr/bin/env python3\n", 0755);
    const auto facts = python_facts(environment, {}, 20'000);
    if (!facts) throw std::runtime_error(facts.error().text());
    const std::string& version = facts->version;
    site = root / "home/.local/lib" / ("python" + version.substr(0, version.rfind('.'))) / "site-packages";
  }

  void install(const std::string& record, const std::string& url = "") {
    put(site / "digits-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: digits\nVersion: 1\n");
    put(site / "digits-1.dist-info/RECORD", record);
    if (!url.empty())
      put(site / "digits-1.dist-info/direct_url.json", R"({"dir_info": {"editable": true}, "url": ")" + url + "\"}");
  }
  StagedCode look(const std::string& entry = "train.py") {
    auto staged = staged_code(environment, code, entry, 20'000);
    if (!staged) throw std::runtime_error(staged.error().text());
    return *staged;
  }

  const std::filesystem::path code = root / "bundle/inputs/code";
  std::filesystem::path site;
  std::map<std::string, std::string> environment{{"PATH", "/usr/bin:/bin"}, {"HOME", (root / "home").string()}};
};

TEST_F(StagedCodeTest, R11_nothing_else_bears_its_name) {
  put(code / "src/digits/__init__.py", "");
  const StagedCode staged = look();
  EXPECT_EQ(staged.distribution, "digits");
  EXPECT_FALSE(staged.installed);
  EXPECT_TRUE(staged.foreign.empty());
}

TEST_F(StagedCodeTest, R11_an_editable_checkout_would_be_imported_in_its_place) {
  put(code / "src/digits/__init__.py", "");
  put(root / "old checkout/src/digits/__init__.py", "raise SystemExit('was imported')");
  install("__editable__.digits-1.pth,,\n", "file://" + root.string() + "/old%20checkout");
  put(site / "__editable__.digits-1.pth", (root / "old checkout/src").string() + "\n");
  const StagedCode staged = look();
  EXPECT_TRUE(staged.installed);
  ASSERT_EQ(staged.foreign.size(), 1U);
  EXPECT_EQ(staged.foreign[0].name, "digits");
  EXPECT_EQ(staged.foreign[0].origin, (root / "old checkout/src/digits/__init__.py").string());

  environment["PYTHONPATH"] = "src";
  EXPECT_TRUE(look().foreign.empty()) << "relative to the code, which is where the entry runs";
}

TEST_F(StagedCodeTest, R11_an_installed_copy_would_be_imported_in_its_place) {
  put(code / "src/digits/__init__.py", "");
  put(site / "digits/__init__.py", "");
  install("digits/__init__.py,,\n");
  ASSERT_EQ(look().foreign.size(), 1U);
  EXPECT_EQ(look().foreign[0].origin, (site / "digits/__init__.py").string());
}

TEST_F(StagedCodeTest, R11_what_lies_beside_the_entry_is_found_first) {
  put(code / "digits/__init__.py", "");
  put(code / "tools/train.py", "", 0755);
  put(site / "digits/__init__.py", "");
  install("digits/__init__.py,,\n");
  EXPECT_TRUE(look().foreign.empty());
  EXPECT_EQ(look("tools/train.py").foreign.size(), 1U) << "there only its own folder is";
}

TEST_F(StagedCodeTest, R11_packages_of_others_may_bear_the_name_of_a_staged_module) {
  put(code / "tests/__init__.py", "");
  put(code / "tools/train.py", "", 0755);
  put(site / "tests/__init__.py", "");
  install("digits/__init__.py,,\n");
  EXPECT_TRUE(look("tools/train.py").foreign.empty());
}

TEST_F(StagedCodeTest, R11_code_that_declares_nothing_is_not_looked_at) {
  for (const char* text :
       {"", "[project]\n", "[tool.other]\nname = \"digits\"\n", "not TOML at all\n[[[", "\xff\xfe"}) {
    put(code / "pyproject.toml", text);
    EXPECT_EQ(look().distribution, "") << text;
  }
  put(code / "setup.cfg", "[metadata]\nname = digits\n");
  EXPECT_EQ(look().distribution, "digits");
}

TEST_F(StagedCodeTest, X4_nothing_of_the_staged_code_runs) {
  for (const char* name : {"json.py", "re.py", "os.py", "importlib/__init__.py", "urllib/parse.py", "sitecustomize.py"})
    put(code / name, "open('" + (root / "ran").string() + "', 'w')\n");
  put(code / "digits/__init__.py", "open('" + (root / "ran").string() + "', 'w')\n");
  put(site / "digits/__init__.py", "");
  install("digits/__init__.py,,\n");
  EXPECT_TRUE(look().foreign.empty());
  EXPECT_FALSE(std::filesystem::exists(root / "ran"));
}

}  // namespace
}  // namespace orbit::runner
