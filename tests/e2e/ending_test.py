"""How runs end: each ending with its state, its reason and whose fault it is (R7), and nothing left behind (R10)."""

import hashlib
import pathlib

from harness import Case, alive, main, nothing_runs, processes_below, wait_until


class Ending(Case):
    def setUp(self):
        super().setUp()
        self.new_server("--local-slots", "4")

    def ended(self, script, *arguments, **more):
        run = self.wait_final(self.submit(self.project(script, **more), *arguments))
        place = self.server.attempt_dir(run["attempts"][0])
        nothing_runs(place)
        return run, run["attempts"][0]

    def assert_ended(self, run, state, reason, blame, **attempt):
        last = run["attempts"][-1]
        self.assertEqual([run["state"], run["reason"], last["blame"]], [state, reason, blame], last)
        for key, value in attempt.items():
            self.assertEqual(last[key], value, last)

    def test_exit_codes_and_signals(self):
        for name, script, wanted in (
            ("zero", "exit 0", ("succeeded", "completed", "nobody", 0, None)),
            ("one", "exit 1", ("failed", "exit_nonzero", "user", 1, None)),
            ("highest", "exit 255", ("failed", "exit_nonzero", "user", 255, None)),
            ("segv", "kill -SEGV $$", ("failed", "killed_by_signal", "user", None, 11)),
        ):
            with self.subTest(name):
                run, attempt = self.ended(script + "\n", name=name)
                self.assert_ended(run, *wanted[:3], exit_code=wanted[3], signal=wanted[4])
                code = 0 if wanted[0] == "succeeded" else 1
                self.orbit("run", "rerun", run["id"], "--follow", code=code)  # only a success exits with 0

    def test_submit_follow_exits_with_1_when_the_run_fails(self):
        folder = self.project("echo before\nexit 3\n")
        ran = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--follow", code=1)
        self.assertEqual(ran.out, b"before\n")
        self.assertIn("exit", ran.text)

    def test_an_interpreter_that_does_not_exist(self):
        run, attempt = self.ended("#!/no/such/interpreter\n")
        self.assertEqual(run["state"], "failed", run)
        self.assertIn(run["reason"], ("start_failed", "exit_nonzero"))  # the shell says 126 or 127
        self.assertEqual(attempt["blame"], "user")

    def test_a_missing_output(self):
        run, _ = self.ended("exit 0\n", inputs={"output": "model.bin"})
        self.assert_ended(run, "failed", "output_missing", "user", exit_code=0)
        self.assertIn("model.bin", run["attempts"][0]["detail"])

    def test_an_environment_that_this_machine_is_not(self):
        marker = self.dir / "ran"
        run, attempt = self.ended(f"touch {marker}\n", environment={"python": "2.7"})
        self.assert_ended(run, "failed", "environment_mismatch", "user", exit_code=None)
        self.assertIn("python", attempt["detail"])
        self.assertFalse(marker.exists(), "a failed precheck ends the attempt before the entry starts (R11)")
        self.assertIn(b"python", self.logs(run, "execution"))

    def test_data_that_changed_after_submit(self):
        """R5: drift of outside data fails the precheck."""
        data = self.dir / "data.csv"
        data.write_text("1,2,3\n")
        marker = self.dir / "ran"
        self.server.stop()
        self.server.flags = ["--local-slots", "0"]
        self.server.start()
        run = self.submit(self.project(f"touch {marker}\n", task="training", inputs={"dataset": str(data), "output": "m"}))
        data.write_text("1,2,4\n")
        self.server.stop()
        self.server.flags = []
        self.server.start()
        run = self.wait_final(run)
        self.assert_ended(run, "failed", "dataset_changed", run["attempts"][0]["blame"])
        self.assertIn("data.csv", run["attempts"][0]["detail"] + self.logs(run, "execution").decode())
        self.assertFalse(marker.exists())

    def test_a_time_limit(self):
        run, attempt = self.ended("echo on\nwhile :; do sleep 0.1; done\n", "--time-limit", "1s", "--set", "stop_grace=1s")
        self.assert_ended(run, "terminated", "timeout", "user")
        self.assertEqual(self.logs(run), b"on\n")

    def test_stop_of_an_entry_that_ends_on_sigterm(self):
        run = self.wait_state(self.submit(self.project(
            "trap 'echo saved; exit 0' TERM\necho on\nwhile :; do sleep 0.05; done\n")), "running")
        wait_until(lambda: self.logs(run) == b"on\n", "the trap is set")
        self.orbit("run", "stop", run["id"])
        run = self.wait_final(run)
        self.assert_ended(run, "terminated", "cancelled", run["attempts"][0]["blame"])
        self.assertEqual(self.logs(run), b"on\nsaved\n")

    def test_stop_of_an_entry_that_ignores_sigterm_with_children_in_their_own_sessions(self):
        pids = self.dir / "pids"
        run = self.wait_state(self.submit(self.project(
            f"trap '' TERM HUP INT\nsetsid sh -c 'echo $$ >> {pids}; trap \"\" TERM HUP; while :; do sleep 0.1; done' &\n"
            f"echo $$ >> {pids}\nwhile :; do sleep 0.1; done\n"), "--set", "stop_grace=1s"), "running")
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, "both run")
        self.orbit("run", "stop", run["id"])
        run = self.wait_final(run)
        self.assert_ended(run, "terminated", "cancelled", run["attempts"][0]["blame"])
        self.assertEqual([p for p in map(int, pids.read_text().split()) if alive(p)], [])
        self.orbit("run", "stop", run["id"], code=5)  # ended already
        self.orbit("run", "stop", "no-such-run", code=3)

    def test_a_queued_run_is_stopped_without_having_started(self):
        self.server.stop()
        self.server.flags = ["--local-slots", "0"]
        self.server.start()
        marker = self.dir / "ran"
        run = self.submit(self.project(f"touch {marker}\n"))
        self.assertEqual(run["state"], "queued")
        self.assertTrue(self.orbit("run", "why", run["id"]).out.strip())
        self.assertIn(run["name"], self.orbit("queue").out.decode())
        self.orbit("run", "stop", run["id"])
        run = self.wait_final(run)
        self.assert_ended(run, "terminated", "cancelled", run["attempts"][0]["blame"], started_at=None)
        self.assertFalse(marker.exists())

    def test_an_entry_that_daemonises_leaves_no_process(self):
        """In a session of its own, orphaned, in another directory, with nothing of its environment left."""
        pid = self.dir / "pid"
        run, attempt = self.ended(
            "#!/usr/bin/python3\nimport os, signal, sys, time\n"
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.chdir('/')\n"
            "        for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
            "        code = 'import os,time; open(%r, \"w\").write(str(os.getpid())); time.sleep(600)'\n"
            f"        code = code % '{pid}'\n"
            "        os.execve('/usr/bin/python3', ['python3', '-c', \"import signal;signal.signal(15,signal.SIG_IGN);\" + code], {})\n"
            "    os._exit(0)\n"
            f"while not os.path.exists('{pid}') or not open('{pid}').read(): time.sleep(0.02)\n"
            "print('main ends')\n")
        daemon = int(pid.read_text())
        self.assertFalse(alive(daemon), f"{daemon} lives after its run is {run['state']}")
        self.assert_ended(run, "succeeded", "completed", "nobody", exit_code=0)
        self.assertEqual(self.logs(run), b"main ends\n")

    def test_a_fork_storm_is_ended(self):
        run = self.wait_state(self.submit(self.project(
            "trap '' TERM\nfor i in $(seq 200); do setsid sh -c 'trap \"\" TERM; sleep 600' & done\necho up\nwait\n"),
            "--set", "stop_grace=1s"), "running")
        wait_until(lambda: self.logs(run) == b"up\n", "all are up")
        self.assertGreater(len(processes_below(self.server.attempt_dir(run["attempts"][0]))), 200)
        self.orbit("run", "stop", run["id"])
        self.assertEqual(self.wait_final(run)["state"], "terminated")
        nothing_runs(self.server.attempt_dir(run["attempts"][0]))

    def test_the_workload_gets_nothing_of_the_servers_secrets(self):
        """R15, row 12 and 16 of the flaws of this class of software: neither token nor key in the environment."""
        self.server.stop()
        self.server.extra_environment = {"AWS_SECRET_ACCESS_KEY": "must-not-arrive", "ORBIT_TOKEN": "must-not-arrive"}
        self.server.start()
        run, _ = self.ended("env | sort\n")
        said = self.logs(run).decode()
        for secret in ("ORBIT_TOKEN", "ORBIT_SERVER", self.server.token, "must-not-arrive"):
            self.assertNotIn(secret, said)
        self.assertIn("ORBIT_ARTIFACTS=", said)

    def test_artifacts_with_links_and_odd_files(self):
        """R14: links are recorded, never followed out of the bundle; what is no file is no artifact."""
        canary = self.dir / "canary"
        canary.write_text("secret-of-the-host")
        run, _ = self.ended(
            f'cd "$ORBIT_ARTIFACTS"\nln -s {canary} out\nln -s ../../.. up\nln -s stdout in\nmkfifo pipe\n'
            "mkdir -p a/b\necho kept > a/b/c\nprintf x > 'new\nline'\n")
        listed = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts?limit=100")
        self.assertEqual(listed.status, 200)
        self.assertNotIn(b"secret-of-the-host", listed.body)
        paths = {item["path"] for item in listed.json["items"]}
        self.assertIn("a/b/c", paths)
        for path in ("out", "up/canary", "up/server.lock", "pipe", "out/"):
            answer = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts/{path}")
            self.assertNotEqual(answer.status, 200, path)
            self.assertNotIn(b"secret-of-the-host", answer.body)
        self.orbit("run", "artifacts", "get", run["id"], "--to", self.dir / "got", code=None)
        got = pathlib.Path(self.dir / "got")
        self.assertEqual((got / "a/b/c").read_text(), "kept\n")
        for path in got.rglob("*"):
            self.assertFalse(path.is_file() and "secret-of-the-host" in path.read_text(errors="replace"), path)


class Output(Case):
    """R12: logs are byte streams."""

    def test_nothing_is_printed(self):
        self.new_server()
        run = self.wait_final(self.submit(self.project("exit 0\n")))
        self.assertEqual([self.logs(run), self.logs(run, "stderr")], [b"", b""])
        self.assertEqual(self.orbit("run", "logs", run["id"], "--follow").out, b"")
        self.assertEqual(run["state"], "succeeded")

    def test_bytes_that_are_no_text(self):
        self.new_server()
        nasty = (bytes(range(256)) * 3 + b"\r50%\r100%\r\n" + b"L" * 1_000_000 + b"\n" + b"\xff\xfe\xc3\x28\xed\xa0\x80" +
                 b"\x1b[31mred\x1b]0;title\x07" + b"\0" * 5000 + b"\ndata: not an event\n\nid: 5\n\n" + b"\xf0\x9f\x98")
        folder = self.project("cat nasty\nhead -c 70000 nasty >&2\n")
        (folder / "nasty").write_bytes(nasty)
        run = self.submit(folder)
        followed = self.orbit("run", "logs", run["id"], "--follow")
        self.assertEqual(followed.out, nasty)
        self.assertEqual(followed.err, nasty[:70000])
        run = self.wait_final(run)
        self.assertEqual(self.logs(run), nasty)
        self.assertEqual(self.logs(run, "stderr"), nasty[:70000])
        for offset in (1, 255, 700_000, len(nasty) - 1):
            self.assertEqual(self.logs(run, "stdout", "--offset", offset), nasty[offset:])
        self.assertEqual(self.logs(run, "stdout", "--tail-bytes", 4), nasty[-4:])
        digest = {a["path"]: a["sha256"] for a in self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts").json["items"]}
        self.assertEqual(digest["stdout"], hashlib.sha256(nasty).hexdigest())


if __name__ == "__main__":
    main()
