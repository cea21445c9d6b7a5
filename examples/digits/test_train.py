#!/usr/bin/env python3
"""Tests of train.py as a program: python3 -m unittest examples/digits/test_train.py

The script is started as the runner starts it: by its run bit, with the system's PATH.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "train.py"
DATASET = HERE / "data" / "digits.csv.gz"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="digits-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, name, *arguments, dataset=DATASET, in_artifacts=True):
        """The running process and its artifacts folder."""
        artifacts = self.folder / name
        artifacts.mkdir(exist_ok=True)
        environment = {"PATH": SYSTEM_PATH}
        if in_artifacts:
            environment["ORBIT_ARTIFACTS"] = str(artifacts)
        command = [str(SCRIPT), f"--dataset={dataset}", f"--output={artifacts}/model.npz", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(self.end, process)
        return process, artifacts

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def train(self, name, *arguments, expect=0, **options):
        process, artifacts = self.start(name, *arguments, **options)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, expect, f"stdout: {out}\nstderr: {err}")
        return artifacts, out, err

    def checkpoints(self, artifacts):
        """Names of the whole ones."""
        return sorted(path.parent.name for path in artifacts.glob("checkpoints/*/COMPLETE"))

    def metrics(self, artifacts):
        return [json.loads(line) for line in (artifacts / "metrics.jsonl").read_text().splitlines()]

    def assert_same_result(self, a, b):
        for name in ("model.npz", "report.json"):
            self.assertEqual((a / name).read_bytes(), (b / name).read_bytes(), name)

    def test_learns_and_leaves_everything(self):
        artifacts, out, _ = self.train("run")
        report = json.loads((artifacts / "report.json").read_text())
        self.assertGreater(report["accuracy"], 0.95)
        metrics = self.metrics(artifacts)
        self.assertEqual([point["step"] for point in metrics], list(range(1, 31)))
        self.assertEqual(metrics[-1]["accuracy"], report["accuracy"])
        self.assertLess(metrics[-1]["loss"], metrics[0]["loss"])
        self.assertEqual(self.checkpoints(artifacts), [f"step-{step:06d}" for step in range(5, 31, 5)])
        self.assertEqual(len(re.findall(r"^epoch \d+/30 ", out, re.MULTILINE)), 30)
        self.assertEqual([path.name for path in artifacts.rglob("*.partial")], [])

    def test_same_seed_same_bits_another_seed_others(self):
        a, _, _ = self.train("a", "--epochs=3")
        b, _, _ = self.train("b", "--epochs=3")
        c, _, _ = self.train("c", "--epochs=3", "--seed=1")
        self.assert_same_result(a, b)
        self.assertNotEqual((a / "model.npz").read_bytes(), (c / "model.npz").read_bytes())

    def test_resume_gives_the_bits_of_the_uninterrupted_run(self):
        whole, _, _ = self.train("whole", "--epochs=12", "--checkpoint-every=4")
        part, out, _ = self.train("part", "--epochs=12", f"--resume={whole}/checkpoints/step-000004")
        self.assertIn("going on from step 4", out)
        self.assertEqual([point["step"] for point in self.metrics(part)], list(range(5, 13)))
        self.assertEqual(self.metrics(part), self.metrics(whole)[4:])
        self.assert_same_result(whole, part)

    def test_sigterm_finishes_the_epoch_and_leaves_a_checkpoint_to_go_on_from(self):
        whole, _, _ = self.train("whole", "--epochs=40")
        process, stopped = self.start("stopped", "--epochs=40", "--epoch-sleep=60", "--checkpoint-every=1000")
        for line in process.stdout:
            if line.startswith("epoch 1/"):
                break
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("stopped after epoch 1", out)
        self.assertEqual(self.checkpoints(stopped), ["step-000001"])
        self.assertFalse((stopped / "model.npz").exists())
        resumed, _, _ = self.train("resumed", "--epochs=40", f"--resume={stopped}/checkpoints/step-000001")
        self.assert_same_result(whole, resumed)

    def test_an_older_checkpoint_of_the_folder_is_replaced(self):
        artifacts, _, _ = self.train("run", "--epochs=5")
        before = (artifacts / "checkpoints/step-000005/state.npz").read_bytes()
        self.train("run", "--epochs=5", "--seed=7")
        self.assertNotEqual((artifacts / "checkpoints/step-000005/state.npz").read_bytes(), before)

    def test_without_orbit_everything_lies_beside_the_output(self):
        artifacts, _, _ = self.train("run", "--epochs=5", in_artifacts=False)
        self.assertEqual(self.checkpoints(artifacts), ["step-000005"])
        self.assertEqual(len(self.metrics(artifacts)), 5)

    def test_refuses_what_is_no_checkpoint(self):
        artifacts, _, _ = self.train("run", "--epochs=5")
        checkpoint = artifacts / "checkpoints/step-000005"
        _, _, err = self.train("a", "--hidden=8", f"--resume={checkpoint}", expect=2)
        self.assertIn("hidden 64, not 8", err)
        other = self.folder / "other.csv"
        rows = subprocess.run(["zcat", DATASET], check=True, capture_output=True).stdout.splitlines(keepends=True)
        other.write_bytes(b"".join(rows[:500]))
        _, _, err = self.train("b", f"--resume={checkpoint}", dataset=other, expect=2)
        self.assertIn("dataset_sha256", err)
        (checkpoint / "state.npz").write_bytes(b"cut off")
        _, _, err = self.train("c", f"--resume={checkpoint}", expect=2)
        self.assertIn("is not a checkpoint", err)
        (checkpoint / "COMPLETE").unlink()
        _, _, err = self.train("d", f"--resume={checkpoint}", expect=2)
        self.assertIn("there is no COMPLETE", err)
        self.train("e", f"--resume={self.folder}/missing", expect=2)

    def test_refuses_bad_data_and_bad_arguments(self):
        _, _, err = self.train("a", dataset=self.folder / "missing.csv", expect=2)
        self.assertIn("cannot read the dataset", err)
        for number, text in enumerate((b"", b"1,2,3\n", b"a,b\n", b"\x1f\x8bnot gzip", DATASET.read_bytes()[:1000], b"\xff\xfe")):
            bad = self.folder / f"bad{number}"
            bad.write_bytes(text)
            _, _, err = self.train(f"b{number}", dataset=bad, expect=2)
            self.assertEqual(err.count("\n"), 1, err)
        for argument in ("--epochs=0", "--epochs=1.5", "--lr=-1", "--lr=nan", "--lr=inf", "--hidden=0", "--batch-size=0", "--seed=-1",
                         "--epoch-sleep=-1", "--epoch-sleep=nan", "--unknown=1"):
            _, _, err = self.train("c", argument, expect=2)
            self.assertIn("usage", err)

    def test_a_diverged_run_fails(self):
        _, _, err = self.train("run", "--lr=1e30", "--epochs=3", expect=1)
        self.assertIn("the loss is not a number", err)

    def test_imports_nothing_of_orbit(self):
        self.assertNotRegex(SCRIPT.read_text(), r"(?m)^\s*(import|from)\s+orbit")
        self.assertTrue(os.access(SCRIPT, os.X_OK))


if __name__ == "__main__":
    unittest.main()
