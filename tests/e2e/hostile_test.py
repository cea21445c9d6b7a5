"""A workload owns its artifacts and does to them what it likes while the platform reads them (X4, rows 5 and 7 of the
flaws of this class of software): nothing outside is read or changed, nothing hangs, the run ends."""

from harness import FINAL, Case, main, nothing_runs


class Hostile(Case):
    def setUp(self):
        super().setUp()
        self.new_server()
        self.secret = "canary-secret-" + self.server.token[-10:]
        self.outside = self.dir / "outside"
        self.outside.mkdir()
        self.canary = self.outside / "canary"
        self.canary.write_text(f'{{"step": 1, "leaked": 4711, "note": "{self.secret}"}}\n')
        (self.outside / "COMPLETE").touch()

    def ended(self, script):
        run = self.wait_final(self.submit(self.project(
            script if script.startswith("#!") else f'cd "$ORBIT_ARTIFACTS"\nOUT="{self.outside}"\n{script}')))
        nothing_runs(self.server.attempt_dir(run["attempts"][0]))
        self.assert_nothing_leaked(run)
        return run

    def assert_nothing_leaked(self, run):
        secret = self.secret.encode()
        self.assertEqual(sorted(p.name for p in self.outside.iterdir()), ["COMPLETE", "canary"])
        self.assertIn(self.secret, self.canary.read_text())
        base = f"/api/v1/runs/{run['id']}/attempts/1"
        for stream in ("stdout", "stderr", "execution"):
            answer = self.call("GET", f"{base}/logs/{stream}?limit=8000000")
            self.assertIn(answer.status, (200, 404))
            self.assertNotIn(secret, answer.body, stream)
        for what in ("metrics", "checkpoints", "artifacts?limit=1000"):
            answer = self.call("GET", f"{base}/{what}")
            self.assertLess(answer.status, 500, answer)
            self.assertNotIn(secret, answer.body)
            self.assertNotIn(b"4711", answer.body)
        for path in self.paths(run):
            answer = self.call("GET", f"{base}/artifacts/{path}")
            self.assertNotIn(secret, answer.body, path)
        for kept in list((self.server.data / "logs").rglob("*")) + list((self.server.data / "blobs").rglob("*")):
            if kept.is_file():
                self.assertNotIn(secret, kept.read_bytes(), kept)
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)
        got = self.dir / "got"
        self.orbit("run", "artifacts", "get", run["id"], "--to", got, code=None)
        for path in got.rglob("*"):
            self.assertFalse(path.is_file() and secret in path.read_bytes(), path)

    def paths(self, run):
        listed = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts?limit=1000")
        return [i["path"] for i in listed.json.get("items", []) if i["path"].isascii() and i["path"].isprintable() and " " not in i["path"]][:50]

    def test_stdout_becomes_a_link_to_a_secret(self):
        run = self.ended("echo before\nrm stdout\nln -s $OUT/canary stdout\nrm stderr\nln -s $OUT/canary stderr\n")
        self.assertIn(run["state"], ("succeeded", "failed"))

    def test_stdout_becomes_a_fifo(self):
        run = self.ended("echo before\nrm stdout stderr\nmkfifo stdout stderr\n")
        self.assertIn(run["state"], ("succeeded", "failed"))

    def test_stdout_becomes_a_directory_or_disappears(self):
        self.ended("rm stdout stderr\nmkdir stdout\n")

    def test_stdout_is_cut_and_grows_again(self):
        run = self.ended("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.05; done\n: > stdout\nsleep 0.5\necho again\n")
        self.assertIn(run["state"], ("succeeded", "failed"))

    def test_metrics_are_a_link_to_a_secret(self):
        self.ended("ln -s $OUT/canary metrics.jsonl\nsleep 0.5\n")

    def test_metrics_are_a_fifo(self):
        self.ended("mkfifo metrics.jsonl\nsleep 0.5\n")

    def test_metrics_are_nonsense(self):
        run = self.ended(
            "printf '{\"step\": 1, \"ok\": 0.5}\\n{\"step\": 1e400}\\n[1]\\nnull\\n\\377\\376\\n{\"step\": -5, \"x\": \"y\"}\\n"
            "{\"step\": 2, \"nan\": NaN}\\n{\"step\": 3, \"ok\": 0.75}\\n' > metrics.jsonl\n"
            "head -c 3000000 /dev/zero | tr '\\0' '[' >> metrics.jsonl\nprintf '\\n{\"step\": 4, \"ok\": 0.875}' >> metrics.jsonl\n")
        self.assertEqual(run["state"], "succeeded")
        got = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/metrics?name=ok").json["items"]
        self.assertEqual([(m["step"], float(m["value"])) for m in got][:2], [(1, 0.5), (3, 0.75)], got)

    def test_checkpoints_are_outside(self):
        run = self.ended("ln -s $OUT checkpoints\nsleep 0.5\nrm checkpoints\nmkdir checkpoints\nln -s $OUT checkpoints/step-1\nsleep 0.5\n")
        self.assertEqual(self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/checkpoints").json["items"], [])
        self.orbit("run", "resume", run["id"], code=None)

    def test_a_checkpoint_with_a_fifo_and_a_link(self):
        run = self.ended("mkdir -p checkpoints/step-1\nmkfifo checkpoints/step-1/pipe\nln -s $OUT/canary checkpoints/step-1/weights\n"
                         "touch checkpoints/step-1/COMPLETE\nsleep 0.5\n")
        self.assertIn(run["state"], FINAL)

    def test_the_artifacts_folder_is_exchanged(self):
        self.ended('cd ..\nmv artifacts gone\nln -s "$OUT" artifacts\n')

    def test_paths_that_are_deep_long_and_no_text(self):
        run = self.ended("#!/usr/bin/python3\nimport os\nos.chdir(os.environ['ORBIT_ARTIFACTS'])\n"
                         "open(b'\\xff\\xfe', 'w').write('x')\nopen('new\\nline', 'w').write('x')\nopen('n' * 255, 'w').write('x')\n"
                         "open('<img src=x onerror=alert(1)>', 'w').write('x')\nopen('=cmd', 'w').write('x')\n"
                         "os.mkfifo('pipe')\nopen('kept', 'w').write('kept')\n"
                         "for i in range(150):\n    os.mkdir('d'); os.chdir('d')\nopen('deep', 'w').write('x')\n")
        self.assertIn(run["state"], FINAL)
        if run["state"] == "succeeded":
            self.assertIn("kept", self.paths(run))

    def test_a_swap_in_a_loop_while_logs_are_followed_and_artifacts_read(self):
        """File, link, FIFO and directory change places as fast as they can."""
        go = self.dir / "stop"
        run = self.wait_state(self.submit(self.project(
            "#!/usr/bin/python3\nimport os, shutil\nos.chdir(os.environ['ORBIT_ARTIFACTS'])\nprint('begin', flush=True)\n"
            f"outside = '{self.outside}'\n"
            "os.mkdir('checkpoints'); os.mkdir('checkpoints/step-1'); os.mkdir('tmp')\n"
            "makers = [lambda p: open(p, 'w').write('mine'), lambda p: os.symlink(outside + '/canary', p), os.mkfifo]\n"
            "names = ['stdout', 'stderr', 'metrics.jsonl', 'result', 'checkpoints/step-1/COMPLETE', 'checkpoints/step-1/weights']\n"
            "n = 0\n"
            f"while not os.path.exists('{go}') and n < 3_000_000:\n"
            "    n += 1\n    name = names[n % len(names)]\n    part = 'tmp/p%d' % (n % 97)\n"
            "    try:\n        os.unlink(part)\n    except OSError: pass\n"
            "    makers[(n // 7) % 3](part)\n    os.replace(part, name)\n"
            "    if n % 50 == 0:\n        os.rename('checkpoints', 'c2'); os.symlink(outside, 'checkpoints')\n"
            "        os.unlink('checkpoints'); os.rename('c2', 'checkpoints')\n"
            "for name in ('stdout', 'stderr'):\n    os.unlink(name)\n")), "running")
        base = f"/api/v1/runs/{run['id']}/attempts/1"
        secret = self.secret.encode()
        for n in range(150):
            for path in ("logs/stdout", "logs/stderr", "artifacts/result", "artifacts/stdout", "artifacts/metrics.jsonl", "checkpoints", "metrics",
                         "artifacts?limit=100"):
                # A file that changed while it was sent: a part does not pass for the whole, the answer is cut.
                answer = self.call("GET", f"{base}/{path}", may_be_cut=True)
                self.assertNotIn(secret, answer.body, path)
                self.assertLess(answer.status, 500, f"{path}: {answer}")
        go.touch()
        run = self.wait_final(run)
        self.assert_nothing_leaked(run)
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)
        self.orbit("run", "verify", run["id"], code=None)

    def test_many_artifacts(self):
        run = self.wait_final(self.submit(self.project(
            'cd "$ORBIT_ARTIFACTS"\nmkdir m\nfor d in 0 1 2 3 4 5 6 7 8 9; do mkdir m/$d; (cd m/$d; seq 500 | xargs touch); done\n')))
        self.assertEqual([run["state"], run["attempts"][0]["artifact_count"]], ["succeeded", 5002], run["attempts"][0])
        self.orbit("run", "verify", run["id"])
        listed, cursor = [], ""
        while cursor is not None:
            page = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts?limit=2000{cursor}").json
            listed += [item["path"] for item in page["items"]]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        self.assertEqual(len(set(listed)), 5002)
        self.assertEqual(listed, sorted(listed))
        self.orbit("run", "artifacts", "get", run["id"], "m/7", "--to", self.dir / "got")
        self.assertEqual(len(list((self.dir / "got").rglob("*"))), 502)


class Busy(Case):
    """Many at once."""

    def test_never_more_than_the_slots_and_all_to_the_end(self):
        self.new_server("--local-slots", "3")
        log = self.dir / "log"
        folder = self.project(f'echo + >> "{log}"\nsleep 0.2\necho - >> "{log}"\n')
        self.orbit("project", "create", "p")
        clients = [self.start_orbit("submit", "-f", folder / "run.yaml", "--follow", "--name", f"n{i}") for i in range(12)]
        self.assertEqual([c.wait() for c in clients], [0] * 12, clients[0].err)
        running, most = 0, 0
        for line in log.read_text().splitlines():
            running += 1 if line == "+" else -1
            most = max(most, running)
        self.assertEqual(running, 0)
        self.assertEqual(log.read_text().count("+"), 12)
        self.assertLessEqual(most, 3)
        self.assertEqual({r["state"] for r in self.call("GET", "/api/v1/runs?limit=100").json["items"]}, {"succeeded"})

    def test_one_of_many_gets_the_name(self):
        """R18: names are unique in their project."""
        self.new_server("--local-slots", "0")
        folder = self.project("exit 0\n")
        self.orbit("project", "create", "p")
        clients = [self.start_orbit("submit", "-f", folder / "run.yaml", "--name", "the-one") for _ in range(8)]
        self.assertEqual(sorted(c.wait() for c in clients), [0] + [5] * 7)
        self.assertEqual(len(self.call("GET", "/api/v1/runs").json["items"]), 1)


if __name__ == "__main__":
    main()
