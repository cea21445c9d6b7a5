"""A full disk (X5): said in words, nothing acknowledged is lost, and once there is room again all goes on."""

import os
import subprocess
import unittest

from harness import Case, main


@unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.mount = self.dir / "small"
        self.mount.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=0700", "none", str(self.mount)], capture_output=True)
        if done.returncode != 0:
            self.skipTest(f"may not mount: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.mount)], check=True)

    def fill(self):
        with open(self.mount / "filler", "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 512):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def test_nothing_acknowledged_is_lost(self):
        server = self.new_server("--local-slots", "0", data="small/data")
        folder = self.project('echo ran\necho kept > "$ORBIT_ARTIFACTS/a"\n')
        first = self.submit(folder, "--name", "first", "--set", "resources.disk=1KiB")
        self.fill()
        acknowledged = ["first"]
        for n in range(3):
            (folder / "new").write_bytes(os.urandom(300_000))
            ran = self.orbit("submit", "-f", folder / "run.yaml", "--name", f"full-{n}", "--set", "resources.disk=1KiB", code=None)
            self.assertIn(ran.code, (1, 6), ran)
            self.assertRegex(ran.text, "(?i)space|full|disk")
            if ran.code == 0:
                acknowledged.append(f"full-{n}")
        self.assertEqual(self.call("GET", f"/api/v1/runs/{first['id']}").json["state"], "queued")
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)
        server.kill()
        (self.mount / "filler").unlink()
        server.flags = []
        server.start()
        run = self.wait_final(first)
        self.assertEqual([run["state"], len(run["attempts"])], ["succeeded", 1], run)
        self.assertEqual(self.logs(run), b"ran\n")
        self.assertEqual([r["name"] for r in self.call("GET", "/api/v1/runs").json["items"]], acknowledged)
        self.wait_final(self.submit(folder, "--name", "again", "--set", "resources.disk=1KiB"))

    def test_a_workload_that_fills_the_disk(self):
        server = self.new_server(data="small/data")
        folder = self.project('cat /dev/zero > "$ORBIT_ARTIFACTS/big" || { sleep 1; rm "$ORBIT_ARTIFACTS/big"; exit 5; }\n')
        run = self.wait_final(self.submit(folder, "--set", "resources.disk=1KiB"))
        self.assertEqual([run["state"], len(run["attempts"])], ["failed", 1], run)
        self.assertIn(run["reason"], ("exit_nonzero", "disk_full"), run["attempts"])
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)
        self.assertIsNone(server.process.poll())

    def test_too_little_free_disk_fails_the_precheck(self):
        """R11."""
        self.new_server(data="small/data")
        run = self.wait_final(self.submit(self.project("echo never\n"), "--set", "resources.disk=10GiB"))
        self.assertEqual([run["state"], run["reason"], run["attempts"][0]["exit_code"]], ["failed", "precheck_failed", None], run)
        self.assertIn("disk", run["attempts"][0]["detail"])
        self.assertEqual(self.logs(run), b"")


if __name__ == "__main__":
    main()
