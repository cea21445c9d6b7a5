"""The runner dies. The workload lives on; its end is what can be proven, never a guess (R7 R10)."""

import json
import os
import signal

from harness import Case, alive, main, nothing_runs, wait_until


class Runner(Case):
    def running(self, script):
        self.go = self.dir / "go"
        folder = self.project(f'echo started\nuntil [ -e "{self.go}" ]; do sleep 0.05; done\n{script}')
        run = self.wait_state(self.submit(folder), "running")
        attempt = run["attempts"][0]
        workload = json.loads((self.server.attempt_dir(attempt) / "runtime/workload.json").read_text())
        runner = [r["process"]["pid"] for r in self.server.journal(attempt) if r["kind"] == "runner_started"][-1]
        return run, attempt, runner, workload["keeper"]["pid"], workload["entry"]["pid"]

    def killed_runner(self, ending):
        self.new_server()
        run, attempt, runner, keeper, entry = self.running(ending)
        os.kill(runner, signal.SIGKILL)
        wait_until(lambda: not alive(runner), "the runner is dead")
        self.assertTrue(alive(entry))
        self.assertIn(self.run_of(run)["state"], ("running", "starting"))
        self.assertTrue(alive(entry), "the workload lives on")
        self.go.touch()
        run = self.wait_final(run)
        self.assertEqual(len(run["attempts"]), 1)
        nothing_runs(self.server.attempt_dir(attempt))
        return run, run["attempts"][0]

    def test_killed_runner_of_a_workload_that_ends_well(self):
        run, attempt = self.killed_runner("echo ended\n")
        if run["state"] == "succeeded":  # proven by the keeper, which is the parent of the entry
            self.assertEqual(attempt["exit_code"], 0)
            self.assertTrue((self.server.attempt_dir(attempt) / "runtime/exit.json").exists())
        else:
            self.assertEqual([run["state"], run["reason"]], ["interrupted", "runner_lost"])
        self.assertEqual(self.logs(run), b"started\nended\n")

    def test_killed_runner_of_a_workload_that_fails(self):
        run, attempt = self.killed_runner("echo ended\nexit 3\n")
        self.assertIn((run["state"], attempt["exit_code"]), [("failed", 3), ("interrupted", None)])
        self.assertEqual(self.logs(run), b"started\nended\n")

    def test_killed_runner_and_keeper(self):
        """Nobody is left who could know how the entry ended: not a success, though it exits with 0."""
        self.new_server()
        run, attempt, runner, keeper, entry = self.running("echo ended\n")
        os.kill(runner, signal.SIGKILL)
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not alive(runner) and not alive(keeper), "both are dead")
        self.go.touch()
        run = self.wait_final(run)
        self.assertEqual([run["state"], run["reason"], run["attempts"][0]["exit_code"], len(run["attempts"])],
                         ["interrupted", "runner_lost", None, 1], run)
        self.assertEqual(run["attempts"][0]["blame"], "platform")
        self.assertTrue(self.logs(run).startswith(b"started\n"))  # what had arrived stays readable (R12)
        nothing_runs(self.server.attempt_dir(attempt))

    def test_killed_runner_keeper_and_server(self):
        self.new_server()
        run, attempt, runner, keeper, entry = self.running("echo ended\n")
        self.server.kill()
        for pid in (runner, keeper):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(runner) and not alive(keeper), "both are dead")
        self.go.touch()
        wait_until(lambda: not alive(entry), "the entry ends by itself")
        self.server.start()
        run = self.wait_final(run)
        self.assertEqual([run["state"], run["reason"], len(run["attempts"])], ["interrupted", "runner_lost", 1], run)

    def test_stop_reaches_a_workload_whose_runner_is_dead(self):
        self.new_server()
        run, attempt, runner, keeper, entry = self.running("")
        os.kill(runner, signal.SIGKILL)
        wait_until(lambda: not alive(runner), "the runner is dead")
        self.orbit("run", "stop", run["id"])
        run = self.wait_final(run)
        self.assertIn(run["state"], ("terminated", "interrupted"))
        wait_until(lambda: not alive(entry), "the entry is ended")
        nothing_runs(self.server.attempt_dir(attempt))

    def test_a_killed_entry_is_told_as_killed(self):
        self.new_server()
        run, attempt, runner, keeper, entry = self.running("")
        os.kill(entry, signal.SIGKILL)
        run = self.wait_final(run)
        self.assertEqual([run["state"], run["reason"], run["attempts"][0]["signal"]], ["failed", "killed_by_signal", 9])


if __name__ == "__main__":
    main()
