"""The client's own ways: where its token comes from, what its commands print for people and for programs (U2 U5)."""

import base64
import json
import os
import pty
import subprocess

from harness import ORBIT, PATIENCE_S, Case, git, main


class Login(Case):
    def login(self, *arguments, stdin=b"", code=0, **variables):
        env = self.client_environment()
        del env["ORBIT_TOKEN"]
        env.update(variables)
        return self.orbit("login", self.server.url, *arguments, stdin=stdin, code=code, env=env)

    def written(self):
        return json.loads((self.dir / "home/.config/orbit/config.json").read_text())["token"]

    def test_what_is_handed_over_wins_over_the_environment(self):
        self.new_server()
        good, wrong = self.server.token, "orbit_wrong"
        ran = self.login(stdin=f"{good}\n".encode(), ORBIT_TOKEN=wrong)
        self.assertEqual(self.written(), good)
        self.assertIn("unset ORBIT_TOKEN", ran.text)  # or the next command is refused
        self.login("--token", good, stdin=wrong.encode(), ORBIT_TOKEN=wrong)
        self.assertNotIn("ORBIT_TOKEN", self.login("--token", "-", stdin=good.encode()).text)

        self.login(stdin=f"{wrong}\n".encode(), ORBIT_TOKEN=good, code=4)
        self.login(stdin=b"", ORBIT_TOKEN=good)  # nothing is handed over: as scripts do it
        ran = self.login("--token", "-", stdin=b"", ORBIT_TOKEN=good, code=2)
        self.assertIn("standard input was empty", ran.text)
        self.login(stdin=b"", code=2)

    def test_at_a_terminal_the_environment_is_not_asked_for_again(self):
        self.new_server()
        primary, secondary = pty.openpty()
        try:
            done = subprocess.run([ORBIT, "login", self.server.url], stdin=secondary, capture_output=True,
                                  env=self.client_environment(), timeout=PATIENCE_S)
        finally:
            os.close(primary)
            os.close(secondary)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.written(), self.server.token)


class People(Case):
    def test_what_would_be_frozen_is_what_was_frozen(self):
        """R1: `submit --dry-run`, `run spec` and `run show` speak of the same things in the same words."""
        self.new_server()
        (self.dir / "data.csv").write_text("1,2\n")
        folder = self.project('echo made > "$ORBIT_ARTIFACTS/made"\n', task="training", params={"lr": 0.5},
                              inputs={"dataset": str(self.dir / "data.csv"), "output": "made"},
                              resources={"cpus": 1, "time_limit": "90s", "memory": "1MiB"},
                              overrides={"stop_grace": "7s", "runtime_env.A": "b"}, resume_argument="--resume")

        def fields(text):
            return [line for line in text.decode().split("\n\n")[0].splitlines() if not line.startswith("placement:")]

        dry = fields(self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--dry-run", "--tag", "t").out)
        run = self.submit(folder, "--tag", "t")
        frozen = [line.split(":", 1) for line in fields(self.orbit("run", "spec", run["id"]).out)]
        self.assertEqual([line.split(":", 1) for line in dry], frozen)
        said = {key: value.strip() for key, value in frozen}
        for key, value in {"cpus": "1", "time limit": "1m 30s", "memory": "1.0 MiB", "stop grace": "7s", "env A": "b",
                           "override stop_grace": "7s", "outputs": "made", "resume argument": "--resume", "param lr": "0.5",
                           "entry": "entry.sh", "tags": "t", "bundle digest": run["bundle_digest"]}.items():
            self.assertEqual(said.get(key), value, f"{key} in {said}")
        self.assertIn("(1 file, ", said["data dataset"])
        self.assertIn("key file entry.sh", said)

        self.wait_final(run)
        shown = self.orbit("run", "show", run["id"]).out.decode()
        for words in ("input output:", "outputs:", "(1 file, "):
            self.assertIn(words, shown)
        self.assertNotIn("command:", shown)

    def test_run_show_has_the_command(self):
        self.new_server("--allow-command-tasks", "true")
        folder = self.project("exit 0\n")
        self.orbit("project", "create", "p")
        run = self.orbit("submit", "--project", "p", "--env", "any", "--source", folder, "-o", "json", "--", "echo", "a b").json
        for command in ("show", "spec"):
            self.assertRegex(self.orbit("run", command, run["id"]).out.decode(), r"(?m)^command: +echo 'a b'$")

    def test_key_files_that_match_nothing(self):
        self.new_server()
        folder = self.project("exit 0\n", code={"source": ".", "entry": "entry.sh", "key_files": ["run.yaml", "conf/*.yml"]})
        (folder / "conf").mkdir()
        (folder / "conf/a.yaml").write_text("a: 1\n")
        submit = ("submit", "-f", folder / "run.yaml", "--create-project", "-o", "json")
        for command in (submit, ("bundle", "build", folder, "--out", self.dir / "bundle", "--task-types", self.server.data / "task-types")):
            ran = self.orbit(*command, code=2)
            self.assertRegex(ran.text, r"^orbit: code\.key_files\[1\]: 'conf/\*\.yml' matches no file of the code\nhint: .*conf/\*\.yaml")
        (folder / "conf/b.yml").write_text("b: 1\n")
        ran = self.orbit(*submit, "--key-file", "./conf/*.yaml", "--key-file", "nosuch.toml", code=2)
        self.assertRegex(ran.text, r"^orbit: --key-file: 'nosuch\.toml' matches no file of the code\nhint: ")
        self.assertEqual(self.call("GET", "/api/v1/runs").json["items"], [])

        # Those of a project are of all its sources: they may match nothing.
        self.orbit("project", "create", "p", "--key-file", "nosuch.toml", "--key-file", "conf/b.yml")
        run = self.orbit(*submit, "--key-file", "./conf/*.yaml").json
        self.assertEqual(sorted(run["code"]["key_files"]), ["conf/a.yaml", "conf/b.yml", "entry.sh", "run.yaml"])

    def test_hints_say_what_to_do(self):
        self.new_server()
        folder = self.project("exit 0\n")
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "first")
        submit = ("submit", "-f", folder / "run.yaml", "--create-project")
        for arguments, field, hint in (
                (("run", "show", "nosuch"), "run", "orbit run ls"),
                (("run", "diff", "nosuch", "other"), "run", "orbit run ls"),
                (("token", "revoke", "01" + "0" * 24), "id", "orbit token ls"),
                ((*submit, "--experiment", "nosuch"), "experiment", "orbit experiment "),
                ((*submit, "--source", "/nonexist"), "source", "a folder on this machine"),
                ((*submit, "--source", folder / "entry.sh"), "source", "a folder on this machine"),
                ((*submit, "--revision", "nosuch"), "revision", "git log --all")):
            ran = self.orbit(*arguments, code=None)
            self.assertIn(ran.code, (2, 3), ran)
            lines = ran.text.splitlines()
            self.assertEqual(len(lines), 2, ran)
            self.assertTrue(lines[0].startswith(f"orbit: {field}: "), ran)
            self.assertTrue(lines[1].startswith("hint: ") and hint in lines[1], ran)

    def test_one_is_one(self):
        self.new_server()
        run = self.wait_final(self.submit(self.project('echo made > "$ORBIT_ARTIFACTS/made"\n')))
        ran = self.orbit("run", "artifacts", "get", run["id"], "made", "--to", self.dir / "got")
        self.assertRegex(ran.out.decode(), r"^1 file, 5 B in ")
        took = self.orbit("run", "attempts", run["id"]).out.decode().splitlines()[1].split()
        self.assertNotIn("0s", took)


class Json(Case):
    def test_logs_as_objects_a_line(self):
        """U2: streams are bytes; as JSON they are the API's own chunks."""
        self.new_server()
        run = self.submit(self.project("printf 'a\\000\\377b\\n'; printf '%0200000d' 7; echo err >&2\n"))
        self.wait_final(run)
        log = self.logs(run)
        self.assertEqual(log[:5], b"a\0\xffb\n")

        def joined(out, at=0):
            for line in out.splitlines():
                chunk = json.loads(line)
                self.assertEqual([sorted(chunk), chunk["offset"]], [["bytes_base64", "offset"], at])
                part = base64.b64decode(chunk["bytes_base64"], validate=True)
                self.assertTrue(part)
                yield part
                at += len(part)

        for more in ((), ("--follow",)):
            ran = self.orbit("run", "logs", run["id"], "-o", "json", *more)
            self.assertEqual(b"".join(joined(ran.out)), log)
            self.assertEqual(b"".join(joined(ran.err)), b"err\n")
            ran = self.orbit("run", "logs", run["id"], "-o", "json", "--stream", "stdout", "--offset", "3", *more)
            self.assertEqual(b"".join(joined(ran.out, 3)), log[3:])
            ran = self.orbit("run", "logs", run["id"], "-o", "json", "--stream", "stderr", *more)
            self.assertEqual([b"".join(joined(ran.out)), ran.err], [b"err\n", b""])

    def test_what_is_no_json_is_refused(self):
        self.new_server()
        run = self.wait_final(self.submit(self.project('echo made > "$ORBIT_ARTIFACTS/file"\n')))
        get = ("run", "artifacts", "get", run["id"], "file", "--to", "-")
        self.assertEqual(self.orbit(*get).out, b"made\n")
        for arguments in (get, ("completion", "bash"), ("completion", "zsh"), ("completion", "fish")):
            ran = self.orbit(*arguments, "-o", "json", code=2)
            self.assertEqual(ran.out, b"")
            self.assertRegex(ran.text, r"^orbit: --output: .*JSON\nhint: leave -o out")


if __name__ == "__main__":
    main()
