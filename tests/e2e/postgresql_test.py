"""The record in PostgreSQL (--db): the same life of a run, and a database that may be away (R9 X5 U1)."""

from harness import Case, main, wait_until
from postgresql import Postgresql


class OnPostgresql(Case):
    def setUp(self):
        super().setUp()
        self.database = Postgresql()
        self.addCleanup(self.database.end)

    def serve(self, **more):
        return self.new_server("--db", self.database.url, **more)

    def test_the_life_of_a_run(self):
        server = self.serve()
        self.assertEqual(self.call("GET", "/api/v1/server").json["database"], "postgresql")
        self.assertFalse((server.data / "orbit.db").exists())
        folder = self.project("echo hello; echo x >\"$ORBIT_ARTIFACTS/model\"\n")
        run = self.submit(folder, "--name", "first", "--tag", "baseline")
        self.assertEqual(self.wait_final(run)["state"], "succeeded")
        self.assertEqual(self.logs(run), b"hello\n")
        self.orbit("run", "verify", "p/first")
        self.orbit("run", "rerun", "p/first", "--follow")
        server.restart()  # kill -9
        shown = self.run_of("p/first")
        self.assertEqual([a["state"] for a in shown["attempts"]], ["succeeded", "succeeded"])
        self.assertEqual([r["name"] for r in self.orbit("run", "ls", "--tag", "baseline", "-o", "json").json["items"]],
                         ["first"])

    def test_a_database_that_goes_away_costs_no_run(self):
        server = self.serve()
        run = self.submit(self.project("while [ ! -e \"$ORBIT_ARTIFACTS/end\" ]; do sleep 0.05; done; echo done\n"))
        run = self.wait_state(run, "running")
        self.database.stop()
        (server.attempt_dir(run["attempts"][0]) / "artifacts/end").write_text("")
        refused = self.orbit("run", "ls", code=6)
        self.assertIn("database", refused.text)
        self.orbit("project", "create", "while-away", code=6)
        wait_until(lambda: (server.attempt_dir(run["attempts"][0]) / "runtime/result.json").exists(),
                   "the run ended while nobody could record it")
        self.database.start()
        ended = self.wait_final(run)
        self.assertEqual([ended["state"], len(ended["attempts"])], ["succeeded", 1])
        self.assertEqual(self.logs(run), b"done\n")
        self.orbit("project", "create", "while-away")
        self.assertIsNone(server.process.poll(), "the same server all the time")

    def test_a_server_without_its_database_does_not_start(self):
        self.database.stop()
        server = self.serve(start=False)
        server.start(wait=False)
        self.assertEqual(server.process.wait(), 6)
        self.assertIn("is PostgreSQL running", server.said())

    def test_copied_there_and_back(self):
        server = self.new_server()
        folder = self.project("echo '{\"step\": 1, \"loss\": 0.5}' >\"$ORBIT_ARTIFACTS/metrics.jsonl\"\n")
        for name in ("one", "two"):
            self.wait_final(self.submit(folder, "--name", name, "--tag", "t"))
        before = self.orbit("run", "ls", "-o", "json").json["items"]
        file = server.data / "orbit.db"
        self.assertIn("stop it first", self.orbit("db", "copy", "--from", file, "--to", self.database.url, code=5).text)
        server.stop()

        there = self.orbit("db", "copy", "--from", file, "--to", self.database.url, "-o", "json").json["items"]
        self.assertEqual({t["table"]: t["rows"] for t in there}["run"], 2)
        again = self.orbit("db", "copy", "--from", file, "--to", self.database.url, code=5)
        self.assertIn("not empty", again.text)
        back = self.orbit("db", "copy", "--from", self.database.url, "--to", self.dir / "back.db", "-o", "json").json["items"]
        self.assertEqual(back, there, "every table, row by row")
        self.orbit("db", "copy", "--from", self.dir / "nowhere.db", "--to", self.dir / "x.db", code=3)
        self.assertFalse((self.dir / "nowhere.db").exists())

        server.flags += ["--db", self.database.url]
        server.start()
        after = self.orbit("run", "ls", "-o", "json").json["items"]
        self.assertEqual(after, before)
        self.orbit("run", "rerun", "p/one", "--follow")
        self.orbit("run", "verify", "p/one")


if __name__ == "__main__":
    main()
