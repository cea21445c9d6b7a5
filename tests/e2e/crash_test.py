"""The server dies at any moment: no run is lost, none starts twice, every log is whole (R9 R10 R12 X5)."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time

from harness import DIGITS, FINAL, Case, environment, main, nothing_runs, processes_below, wait_until


class Crash(Case):
    def test_kill_9_of_server_and_submitting_shell_while_the_example_trains(self):
        server = self.new_server()
        folder = self.dir / "digits"
        shutil.copytree(DIGITS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        expected = subprocess.run(
            [DIGITS / "train.py", f"--dataset={DIGITS}/data/digits.csv.gz", f"--output={self.dir}/by-hand/model.npz",
             "--epochs=10", "--hidden=64", "--lr=0.003", "--seed=0"], env=environment(), check=True, capture_output=True).stdout

        shell = self.start_orbit("submit", "-f", folder / "run.yaml", "--create-project", "--follow", "--name", "crashed",
                                 "--param", "epochs=10", "--param", "epoch-sleep=0.4")
        wait_until(lambda: b"epoch 2/" in shell.out, "the example trains, and its log is followed")
        os.killpg(shell.process.pid, signal.SIGKILL)
        shell.wait()
        server.kill()
        self.assertTrue([p for p in processes_below(server.data)], "runner and workload live on")
        server.start()
        self.assertEqual(self.orbit("run", "logs", "digits/crashed", "--follow").out, expected)
        run = self.wait_final(self.run_of("digits/crashed"))
        self.assertEqual([run["state"], run["reason"], len(run["attempts"])], ["succeeded", "completed", 1], run)
        self.assertEqual(self.logs(run), expected)
        self.assertEqual(self.orbit("run", "ls", "-o", "json").json["items"], [run])
        self.orbit("run", "verify", run["id"])

    def test_a_graceful_stop_leaves_runs_alone(self):
        """N6: each part survives the others."""
        server = self.new_server()
        go = self.dir / "go"
        run = self.submit(self.project(f'echo started\nuntil [ -e "{go}" ]; do sleep 0.05; done\necho ended\n'))
        run = self.wait_state(run, "running")
        wait_until(lambda: self.logs(run) == b"started\n", "its first line")
        self.assertEqual(server.stop(), 0)
        self.assertIn("runs that live go on without this server", server.said())
        self.assertTrue(processes_below(server.attempt_dir(run["attempts"][0])))
        go.touch()
        wait_until(lambda: (server.attempt_dir(run["attempts"][0]) / "runtime/result.json").exists(),
                   "the runner records the result without a server")
        server.start()
        run = self.wait_final(run)
        self.assertEqual([run["state"], len(run["attempts"])], ["succeeded", 1])
        self.assertEqual(self.logs(run), b"started\nended\n")

    def test_a_run_that_ended_while_the_server_was_dead_is_collected(self):
        server = self.new_server()
        go = self.dir / "go"
        run = self.wait_state(self.submit(self.project(f'until [ -e "{go}" ]; do sleep 0.05; done\nexit 7\n')), "running")
        server.kill()
        go.touch()
        wait_until(lambda: not processes_below(server.attempt_dir(run["attempts"][0])), "the attempt ends by itself")
        server.start()
        run = self.wait_final(run)
        self.assertEqual([run["state"], run["reason"], run["attempts"][0]["exit_code"], len(run["attempts"])],
                         ["failed", "exit_nonzero", 7, 1])

    def test_a_stop_that_was_acknowledged_is_carried_out_after_a_crash(self):
        server = self.new_server()
        run = self.wait_state(self.submit(self.project("while :; do sleep 0.1; done\n")), "running")
        self.orbit("run", "stop", run["id"])
        server.kill()
        server.start()
        run = self.wait_final(run)
        self.assertEqual([run["state"], run["reason"]], ["terminated", "cancelled"])
        nothing_runs(server.attempt_dir(run["attempts"][0]))

    def test_twenty_kills_during_ten_runs(self):
        """No acknowledged run is lost, none is started twice. A failing seed is printed."""
        seed = int(os.environ.get("ORBIT_E2E_SEED") or time.time_ns() % 1_000_000)
        print(f"seed {seed} (ORBIT_E2E_SEED repeats the moments)", flush=True)
        random_ = random.Random(seed)
        server = self.new_server("--local-slots", "3")
        starts = self.dir / "starts"
        folder = self.project(f'echo "$(basename "$ORBIT_BUNDLE") $$" >> "{starts}"\n'
                              "for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; sleep 0.05; done\necho artifact > \"$ORBIT_ARTIFACTS/a\"\n")
        acknowledged, wrong = [], []

        def submit_all():
            for number in range(10):
                name = f"run-{number}"
                while True:
                    ran = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--name", name, "-o", "json", code=None)
                    if ran.code in (0, 5):  # 5: an answer was lost, and the name is taken by the run itself
                        if ran.code == 0 or f"has a run named '{name}'" in ran.text:
                            acknowledged.append(name)
                            break
                    if ran.code not in (5, 6):
                        wrong.append(ran)
                        return

        submitting = threading.Thread(target=submit_all)
        submitting.start()
        for _ in range(20):
            time.sleep(random_.uniform(0, 0.5))  # the moment, not a wait for anything
            server.kill()
            server.start(wait=random_.random() < 0.7)  # else killed again while it starts
        if server.process.poll() is None:
            server.wait_ready()
        submitting.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(acknowledged), 10)

        def all_final():
            items = self.call("GET", "/api/v1/runs?limit=100").json["items"]
            return items if all(r["state"] in FINAL for r in items) else None

        runs = {r["name"]: r for r in wait_until(all_final, "all runs end")}
        self.assertEqual(sorted(runs), sorted(f"run-{n}" for n in range(10)))
        begun = [line.split()[0] for line in starts.read_text().splitlines()]
        self.assertEqual(len(begun), len(set(begun)), f"an attempt was started twice: {begun}")
        expected = b"".join(b"line %d\n" % n for n in range(1, 11))
        for name, run in runs.items():
            self.assertEqual([run["state"], len(run["attempts"])], ["succeeded", 1], run)
            self.assertIn(run["attempts"][0]["id"], begun)
            self.assertEqual(self.logs(run), expected, name)
        self.assertEqual(len(begun), 10)
        self.orbit("run", "verify", runs["run-3"]["id"])
        # The feed tells each change once, in order (R6).
        events = self.call("GET", "/api/v1/events?limit=1000").json["items"]
        sequence = [e["seq"] for e in events]
        self.assertEqual(sequence, sorted(set(sequence)))

    def test_followers_go_on_across_crashes_without_loss_or_repetition(self):
        """R12."""
        server = self.new_server()
        script = ("#!/usr/bin/python3\nimport sys, time\n"
                  "for i in range(600):\n"
                  "    print('line', i, 'x' * (i % 90), end='\\r' if i % 7 == 0 else '\\n', flush=True)\n"
                  "    time.sleep(0.01)\n")
        expected = "".join(f"line {i} {'x' * (i % 90)}" + ("\r" if i % 7 == 0 else "\n") for i in range(600)).encode()
        run = self.submit(self.project(script))
        followers = [self.start_orbit("run", "logs", run["id"], "--follow") for _ in range(2)]
        for wanted in (b"line 20 ", b"line 150 ", b"line 300 "):
            wait_until(lambda: all(wanted in f.out for f in followers), f"the followers have {wanted}")
            server.kill()
            server.start()
        self.assertEqual([f.wait() for f in followers], [0, 0], followers[0].err)
        for follower in followers:
            self.assertEqual(follower.out, expected)
        self.assertEqual(self.wait_final(run)["state"], "succeeded")
        # From any offset, and the end is told apart from a cut.
        for offset in (1, 1000, len(expected)):
            self.assertEqual(self.logs(run, "stdout", "--offset", offset), expected[offset:])
        answer = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/logs/stdout?offset=100&limit=7")
        self.assertEqual(answer.body, expected[100:107])
        self.assertEqual(answer.headers["Orbit-Log-End"], "false")


if __name__ == "__main__":
    main()
