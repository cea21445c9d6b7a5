"""The client's own ways: where its token comes from, what its commands print for people and for programs (U2 U5)."""

import base64
import json
import os
import pty
import subprocess

from harness import ORBIT, PATIENCE_S, Case, main


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
