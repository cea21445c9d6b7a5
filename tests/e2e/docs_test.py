"""Every command block marked `sh` in the documentation is run, in order, against a fresh server (U5)."""

import os
import re
import shutil
import subprocess
import unittest

from harness import ORBIT, ROOT, Case

PAGES = ["README.md", "README.zh-CN.md", "docs/quick-start.md", "docs/quick-start.zh-CN.md", "docs/admin.md", "docs/api.md"]


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


class Documentation(Case):
    def run_page(self, page):
        commands = "\n".join(blocks(page))
        self.assertTrue(commands.strip(), f"{page} shows no command")
        self.new_server(probe=False)
        # The pages speak of the repository's own folder: a copy of what is tracked, as a clean work tree of its own.
        copy = self.dir / "repository"
        files = subprocess.run(["git", "ls-files", "-z", "README.md", "examples", "docs"], cwd=ROOT, check=True, capture_output=True).stdout
        for name in filter(None, os.fsdecode(files).split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        (copy / "build").mkdir()
        (copy / ".gitignore").write_text("/build/\n")
        (self.dir / "bin").mkdir()
        (self.dir / "bin/orbit").symlink_to(ORBIT)
        env = self.client_environment()
        env["PATH"] = f"{self.dir / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as documented"]):
            subprocess.run(git + command, cwd=copy, check=True, env=env)
        done = subprocess.run(["bash", "-euxo", "pipefail", "-c", commands], cwd=copy, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{page}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")

    def test_the_table_of_configuration_keys_is_the_servers(self):
        server = self.new_server(probe=False)
        table = (ROOT / "docs/admin.md").read_text(encoding="utf-8").split("## Configuration")[1].split("##")[0]
        documented = re.findall(r"^\| `(\w+)` \|[^|]*\| `([^`]*)` \| [^|]+ \|$", table, re.M)
        self.assertEqual(len(documented), len(re.findall(r"^\| `", table, re.M)), "every row has a key, a default and a meaning")
        written = re.findall(r"^# (\w+): (.*)$", (server.data / "config.yaml").read_text(), re.M)
        self.assertEqual(documented, written)
        help_text = self.orbit("server", "--help").out.decode()
        flags = re.findall(r"^  --([\w-]+)\b", help_text, re.M)
        self.assertEqual([key.replace("_", "-") for key, _ in documented], [f for f in flags if f != "data"])
        for key, default in documented:
            flag = key.replace("_", "-")
            self.assertRegex(re.sub(r"\s+", " ", help_text), rf"--{flag} (?:(?! --).)*\(default {re.escape(default)}\)")

    def test_links_between_pages_hold(self):
        for page in PAGES + ["docs/run-file.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/adr/README.md", "examples/digits/README.md"]:
            text = (ROOT / page).read_text(encoding="utf-8")
            for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
                self.assertTrue((ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}")


for _page in PAGES:
    setattr(Documentation, "test_" + re.sub(r"\W", "_", _page), lambda self, page=_page: self.run_page(page))


if __name__ == "__main__":
    unittest.main()
