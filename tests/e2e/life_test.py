"""The life of a run, from submission to verified artifacts, on the example project (R1 R5 R8 R10 R14 R16 R17 U6)."""

import hashlib
import json
import os
import shutil
import subprocess

from harness import DIGITS, Case, environment, git, main, nothing_runs

EPOCHS = 10


class Life(Case):
    def digits(self, name="digits"):
        folder = self.dir / name
        shutil.copytree(DIGITS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        return folder

    def trained_by_hand(self, *arguments):
        """What train.py prints and makes without Orbit."""
        out = self.dir / "by-hand/model.npz"
        done = subprocess.run([DIGITS / "train.py", f"--dataset={DIGITS}/data/digits.csv.gz", f"--output={out}",
                               f"--epochs={EPOCHS}", "--hidden=64", "--lr=0.003", "--seed=0", *arguments],
                              env=environment(), check=True, capture_output=True)
        return done.stdout, hashlib.sha256(out.read_bytes()).hexdigest()

    def test_a_run_from_submission_to_verified_artifacts_rerun_and_resume(self):
        server = self.new_server()
        folder = self.digits()
        log, model = self.trained_by_hand()

        ran = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--follow", "--name", "first",
                         "--param", f"epochs={EPOCHS}")
        self.assertEqual(ran.out, log)  # all of it, and nothing of Orbit's between
        self.assertRegex(ran.text.splitlines()[-1], r"^orbit: attempt 1\b.*\bsucceeded$")
        self.assertRegex(log.decode().splitlines()[-1], r"^accuracy 0\.9")

        run = self.run_of("digits/first")
        self.assertEqual([run["state"], run["reason"], run["succeeded_attempt"]], ["succeeded", "completed", 1])
        first = run["attempts"][0]
        self.assertEqual([first["number"], first["exit_code"], first["signal"], first["blame"], first["reachability"]],
                         [1, 0, None, "nobody", "live"])
        self.assertEqual([first["placement"], first["launch"]], ["local", "host_process"])

        made = {a["path"]: a for a in self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/artifacts").json["items"]}
        self.assertEqual(made["model.npz"]["sha256"], model)  # the same bits as without Orbit (U6)
        self.assertEqual(made["stdout"]["sha256"], hashlib.sha256(log).hexdigest())
        for checkpoint in ("step-000005", "step-000010"):
            for file in ("COMPLETE", "state.json", "state.npz"):
                self.assertIn(f"checkpoints/{checkpoint}/{file}", made)

        # R14, R17: listed and fetched, checked against their digests.
        self.orbit("run", "artifacts", "get", "digits/first", "model.npz", "--to", self.dir / "got")
        self.assertEqual(hashlib.sha256((self.dir / "got/model.npz").read_bytes()).hexdigest(), model)

        metrics = self.orbit("run", "metrics", "digits/first", "-o", "json").json["items"]
        accuracy = [m["value"] for m in metrics if m["name"] == "accuracy"]
        self.assertEqual(len(accuracy), EPOCHS)
        self.assertGreater(float(accuracy[-1]), 0.9)
        checkpoints = self.orbit("run", "checkpoints", "digits/first", "-o", "json").json["items"]
        self.assertEqual([c["step"] for c in checkpoints], [5, 10])

        # R8: the persisted bundle again, the same digest.
        self.orbit("run", "rerun", "digits/first", "--follow")
        run = self.run_of("digits/first")
        self.assertEqual([a["number"] for a in run["attempts"]], [1, 2])
        self.assertEqual(run["attempts"][0], first, "a finished attempt never changes (R6)")
        orders = [json.loads((server.attempt_dir(a) / "runtime/order.json").read_text()) for a in run["attempts"]]
        self.assertEqual([o["bundle"] for o in orders], [run["bundle_digest"]] * 2)
        for attempt in run["attempts"]:
            manifest = (server.attempt_dir(attempt) / "bundle.json").read_bytes()
            self.assertEqual(hashlib.sha256(manifest).hexdigest(), run["bundle_digest"])
        self.assertEqual(run["attempts"][1]["artifacts_digest"], first["artifacts_digest"])

        # R8: from a named checkpoint; ends with the same bits as the run that was never interrupted.
        ran = self.orbit("run", "resume", "digits/first", "--checkpoint", "step-000005", "--attempt", "1", "--follow")
        self.assertIn(b"going on from step 5 ", ran.out)
        self.assertNotIn(b"epoch 5/", ran.out)
        self.assertIn(b"epoch 6/10 ", ran.out)
        run = self.run_of("digits/first")
        third = run["attempts"][2]
        self.assertEqual([third["state"], third["number"]], ["succeeded", 3])
        self.assertEqual(third["resume"]["checkpoint"]["path"] if isinstance(third["resume"].get("checkpoint"), dict)
                         else third["resume"].get("checkpoint") or third["resume"].get("path"), "checkpoints/step-000005")
        again = {a["path"]: a for a in self.call("GET", f"/api/v1/runs/{run['id']}/attempts/3/artifacts").json["items"]}
        self.assertEqual(again["model.npz"]["sha256"], model)

        ran = self.orbit("run", "resume", "digits/first", "--checkpoint", "step-000099", code=3)
        self.assertIn("step-000099", ran.text)
        nothing_runs(server.attempt_dir(first))

    def test_the_line_of_the_example_works_on_a_fresh_server(self):
        """U5: as the run file, its README and `orbit --help` show it."""
        self.new_server(probe=False)
        shutil.copytree(DIGITS, self.dir / "examples/digits", ignore=shutil.ignore_patterns("__pycache__"))
        line = "orbit submit -f examples/digits/run.yaml --follow"
        for page in ("run.yaml", "README.md"):
            self.assertIn(line, (DIGITS / page).read_text())
        ran = self.orbit(*line.split()[1:])
        self.assertRegex(ran.out.decode().splitlines()[-1], r"^accuracy 0\.9")
        self.orbit(*line.split()[1:], "--param", "epochs=1")  # the project is there by now
        self.assertEqual([p["name"] for p in self.call("GET", "/api/v1/projects").json["items"]], ["digits"])

    def test_verify_names_the_artifact_of_which_one_byte_changed(self):
        server = self.new_server()
        run = self.submit(self.project('printf "0123456789" > "$ORBIT_ARTIFACTS/model.bin"\n'))
        run = self.wait_final(run)
        self.assertEqual(run["state"], "succeeded")
        self.assertRegex(self.orbit("run", "verify", run["id"]).out.decode(), r"^ok: 5 bundle files, 3 artifacts")

        model = server.attempt_dir(run["attempts"][0]) / "artifacts/model.bin"
        model.write_bytes(b"0123456780")  # the same size
        ran = self.orbit("run", "verify", run["id"], code=1)
        self.assertIn("model.bin", ran.out.decode() + ran.text)
        verdict = self.orbit("run", "verify", run["id"], "-o", "json", code=1).json
        self.assertFalse(verdict["ok"])
        self.assertEqual(len(verdict["findings"]), 1, verdict)
        self.assertIn("model.bin", json.dumps(verdict["findings"]))

        # What is corrupt is not handed out as if it were whole (R14).
        ran = self.orbit("run", "artifacts", "get", run["id"], "model.bin", "--to", self.dir / "got", code=None)
        self.assertNotEqual(ran.code, 0, ran)

        model.unlink()
        verdict = self.orbit("run", "verify", run["id"], "-o", "json", code=1).json
        self.assertIn("model.bin", json.dumps(verdict["findings"]))
        model.write_bytes(b"0123456789")
        self.orbit("run", "verify", run["id"])

        # The bundle as it lies under the attempt, and as it is kept.
        blob = server.data / "blobs/sha256" / run["bundle_digest"][:2] / run["bundle_digest"]
        if blob.exists():
            whole = blob.read_bytes()
            blob.chmod(0o600)
            blob.write_bytes(whole[:-1] + b" ")
            self.orbit("run", "verify", run["id"], code=1)
            blob.write_bytes(whole)
            self.orbit("run", "verify", run["id"])

    def test_two_clones_of_one_commit_under_different_umasks_are_one_bundle(self):
        """R5: where, when and by whom do not reach the digest."""
        self.new_server()
        origin = self.project("echo hello\n", folder="origin")
        (origin / "lib").mkdir()
        (origin / "lib/data.txt").write_text("data\n")
        (origin / ".gitignore").write_text("*.tmp\n")
        git(origin, "init", "-q")
        git(origin, "add", ".")
        git(origin, "commit", "-q", "-m", "first")
        commit = git(origin, "rev-parse", "HEAD").strip()

        digests = set()
        for name, umask in (("here", 0o077), ("some/where else", 0o000)):
            folder = self.dir / name
            folder.parent.mkdir(exist_ok=True)
            subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True, env=environment(), umask=umask)
            (folder / "clutter.tmp").write_text(name)  # ignored by git
            os.utime(folder / "entry.sh", (1, 1))
            preview = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--dry-run", "-o", "json", umask=umask).json
            digests.add(preview["spec"]["bundle_digest"])
            self.orbit("bundle", "build", folder, "--out", self.dir / f"bundle-{umask}", "--task-types",
                       self.server.data / "task-types", umask=umask)
            run = self.submit(folder, "--name", f"umask-{umask}", umask=umask)
            digests.add(run["bundle_digest"])
            self.assertEqual([run["code"]["commit"], run["code"]["dirty"]], [commit, False])
            digests.add(hashlib.sha256((self.dir / f"bundle-{umask}" / "bundle.json").read_bytes()).hexdigest())
            self.assertEqual(self.wait_final(run)["state"], "succeeded")
        self.assertEqual(len(digests), 1, digests)

    def test_dry_run_records_nothing(self):
        server = self.new_server()
        folder = self.project("echo hi\n")
        before = self.call("GET", "/api/v1/events?limit=100").json["items"]
        ran = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "--dry-run")
        self.assertIn("nothing was submitted (--dry-run)", ran.out.decode())
        self.assertEqual(self.call("GET", "/api/v1/runs").json["items"], [])
        self.assertEqual(self.call("GET", "/api/v1/projects").json["items"], [])
        self.assertEqual(self.call("GET", "/api/v1/events?limit=100").json["items"], before)
        self.assertEqual(list((server.data / "attempts").iterdir()), [])

    def test_diff_names_what_differs(self):
        self.new_server()
        folder = self.project('echo "$@" > "$ORBIT_ARTIFACTS/said"\n')
        one = self.wait_final(self.submit(folder, "--name", "one", "--param", "lr=0.1"))
        two = self.wait_final(self.submit(folder, "--name", "two", "--param", "lr=0.2"))
        ran = self.orbit("run", "diff", "p/one", "p/two").out.decode()
        self.assertIn("lr", ran)
        self.assertIn("0.1", ran)
        self.assertIn("0.2", ran)
        diff = self.orbit("run", "diff", "p/one", "p/two", "-o", "json").json
        self.assertNotEqual(one["bundle_digest"], two["bundle_digest"])
        self.assertIn("lr", json.dumps(diff))
        self.assertIn("said", json.dumps(diff))

    def test_a_dirty_tree_is_refused_and_with_allow_dirty_its_patch_is_frozen(self):
        """R1: the code revision that is recorded is the code that runs."""
        self.new_server()
        folder = self.project("echo clean\n")
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "first")
        (folder / "entry.sh").write_text("#!/bin/sh\necho dirty\n")
        ran = self.orbit("submit", "-f", folder / "run.yaml", "--create-project", code=None)
        self.assertIn(ran.code, (2, 5), ran)
        self.assertIn("entry.sh", ran.text)
        self.assertIn("--allow-dirty", ran.text)
        self.assertEqual(self.call("GET", "/api/v1/runs").json["items"], [])

        run = self.submit(folder, "--allow-dirty")
        self.assertTrue(run["code"]["dirty"])
        patch = self.call("GET", f"/api/v1/runs/{run['id']}/bundle/inputs/patch.diff")
        self.assertEqual(patch.status, 200)
        self.assertEqual(hashlib.sha256(patch.body).hexdigest(), run["code"]["patch"])
        self.assertIn(b"-echo clean\n", patch.body)
        self.assertIn(b"+echo dirty\n", patch.body)
        self.assertEqual(self.wait_final(run)["state"], "succeeded")
        self.assertEqual(self.logs(run), b"dirty\n")

        (folder / "entry.sh").write_text("#!/bin/sh\nset -eu\necho clean\n")
        (folder / "new.py").write_text("untracked\n")
        ran = self.orbit("submit", "-f", folder / "run.yaml", code=None)
        self.assertIn(ran.code, (2, 5), ran)
        self.assertIn("new.py", ran.text)

    def test_a_change_of_the_folder_after_submit_changes_nothing(self):
        """R1, R5: what was frozen is what runs, now and again."""
        self.new_server("--local-slots", "0")
        folder = self.project("cat text\n")
        (folder / "text").write_text("before\n")
        run = self.submit(folder)
        (folder / "text").write_text("after\n")
        shutil.rmtree(folder)
        self.server.stop()
        self.server.flags = []
        self.server.start()
        run = self.wait_final(run)
        self.assertEqual(run["state"], "succeeded", run)
        self.assertEqual(self.logs(run), b"before\n")

    def test_a_task_of_type_command_where_it_is_allowed(self):
        self.new_server("--allow-command-tasks", "true")
        folder = self.project("exit 9\n")
        self.orbit("project", "create", "p")
        run = self.orbit("submit", "--project", "p", "--env", "any", "--source", folder, "-o", "json", "--",
                         "printf", "%s|", "a b", "$(id)", "'").json
        self.assertEqual(self.wait_final(run)["state"], "succeeded")
        self.assertEqual(self.logs(run), b"a b|$(id)|'|")


class ByHand(Case):
    """R17: a bundle is built, checked and run without a server."""

    def test_build_check_and_run(self):
        folder = self.dir / "digits"
        shutil.copytree(DIGITS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        bundle = self.dir / "bundle"
        digest = self.orbit("bundle", "build", folder, "--out", bundle, "--param", "epochs=3").out.decode().split()
        actual = hashlib.sha256((bundle / "bundle.json").read_bytes()).hexdigest()
        self.assertIn(actual, digest)
        self.orbit("bundle", "check", bundle)
        self.orbit("bundle", "check", bundle, "--digest", actual)
        self.orbit("bundle", "check", bundle, "--digest", "0" * 64, code=1)
        self.orbit("bundle", "run", bundle)
        self.assertTrue((bundle / "artifacts/model.npz").is_file())
        result = json.loads((bundle / "runtime/result.json").read_text())
        self.assertEqual([result["exit_code"], result["missing_outputs"], result["collect_error"]], [0, [], None], result)
        nothing_runs(bundle)
        ran = self.orbit("bundle", "run", bundle, code=None)
        self.assertNotEqual(ran.code, 0)  # once: artifacts of two runs must not mix
        self.orbit("bundle", "run", bundle, "--again")

        train = bundle / "inputs/code/train.py"
        train.chmod(0o755)
        train.write_bytes(train.read_bytes() + b"\n")
        ran = self.orbit("bundle", "check", bundle, code=1)
        self.assertIn("inputs/code/train.py", ran.out.decode() + ran.text)

    def test_a_changed_bundle_is_not_run(self):
        """R5: the runner refuses a bundle whose digest does not match."""
        marker = self.dir / "ran"
        folder = self.project(f"touch {marker}\n", name="q", task="collection", inputs={"source": "here", "output": "x"})
        bundle = self.dir / "bundle"
        self.orbit("bundle", "build", folder, "--out", bundle)
        entry = bundle / "inputs/code/entry.sh"
        entry.chmod(0o755)
        entry.write_text(entry.read_text() + "echo more\n")
        ran = self.orbit("bundle", "run", bundle, code=None)
        self.assertNotEqual(ran.code, 0, ran)
        self.assertIn("inputs/code/entry.sh", ran.out.decode() + ran.text)
        self.assertFalse(marker.exists())


if __name__ == "__main__":
    main()
