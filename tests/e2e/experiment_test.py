"""Experiments (R18): a question, the runs that look for its answer, and the answer, written once."""

from harness import Case, main


class Experiment(Case):
    def test_from_hypothesis_to_conclusion(self):
        self.new_server()
        folder = self.project("echo '{\"loss\": 1, \"step\": 1}' >\"$ORBIT_ARTIFACTS/metrics.jsonl\"\n", name="vision")
        self.orbit("project", "create", "vision")
        made = self.orbit("experiment", "create", "-p", "vision", "warmup", "--variable", "warmup_steps", "--hypothesis",
                          "longer helps", "-o", "json").json
        self.assertEqual([made["project"], made["name"], made["variable"], made["hypothesis"], made["conclusion"]],
                         ["vision", "warmup", "warmup_steps", "longer helps", None])
        self.orbit("experiment", "create", "-p", "vision", "warmup", "--variable", "x", "--hypothesis", "y", code=5)

        runs = [self.submit(folder, "--experiment", "warmup", "--name", name) for name in ("short", "long")]
        self.submit(folder, "--name", "beside-it")
        for run in runs:
            self.assertEqual(self.run_of(run)["experiment"], "warmup")
            self.wait_final(run)
        listed = self.call("GET", "/api/v1/runs?project=vision&experiment=warmup").json["items"]
        self.assertEqual({run["name"] for run in listed}, {"short", "long"})
        text = self.orbit("experiment", "show", "-p", "vision", "warmup").out.decode()
        for word in ("warmup_steps", "longer helps", "short", "long"):
            self.assertIn(word, text)
        self.assertNotIn("beside-it", text)
        shown = self.orbit("experiment", "show", "-p", "vision", "warmup", "-o", "json").json
        self.assertEqual(shown["experiment"]["variable"], "warmup_steps")
        self.assertEqual({run["id"] for run in shown["runs"]}, {run["id"] for run in runs})

        done = self.orbit("experiment", "conclude", "-p", "vision", "warmup", "it does not", "-o", "json").json
        self.assertEqual(done["conclusion"], "it does not")
        self.assertIsNotNone(done["concluded_at"])
        again = self.orbit("experiment", "conclude", "-p", "vision", "warmup", "it does", code=5)
        self.assertIn("conclusion", again.text)
        self.assertIn("it does not", self.orbit("experiment", "ls", "-p", "vision").out.decode() +
                      self.orbit("experiment", "show", "-p", "vision", "warmup").out.decode())


if __name__ == "__main__":
    main()
