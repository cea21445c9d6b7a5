"""Much of everything: a workload that prints a gigabyte, a file of five (R12 X4)."""

import hashlib
import os
import shutil
import unittest

from harness import Case, main

LARGE = os.environ.get("ORBIT_E2E_LARGE") == "1"  # gigabytes: minutes on a slow disk, so only when asked


class Volume(Case):
    def test_much_is_printed(self):
        """100 MB, and 1 GB when asked: that is minutes on a slow disk."""
        self.new_server()
        line = b"0123456789abcdef" * 63 + b"\n"
        count = 1_000_000 if LARGE else 100_000
        run = self.submit(self.project(f"yes {line.decode().strip()} | head -n {count}\n"))
        out = self.start_orbit("run", "logs", run["id"], "--follow", "--stream", "stdout")
        self.assertEqual(out.wait(), 0, out.err)
        self.assertEqual(self.wait_final(run)["state"], "succeeded")
        size, wanted = len(line) * count, hashlib.sha256()
        for _ in range(count):
            wanted.update(line)
        self.assertEqual(out.out_path.stat().st_size, size)
        with open(out.out_path, "rb") as file:
            self.assertEqual(hashlib.file_digest(file, "sha256").hexdigest(), wanted.hexdigest())
        out.out_path.unlink()
        end = self.call("GET", f"/api/v1/runs/{run['id']}/attempts/1/logs/stdout?offset=-5&limit=100")
        self.assertEqual([end.body, end.headers["Orbit-Log-Size"], end.headers["Orbit-Log-End"]], [line[-5:], str(size), "true"])

    @unittest.skipUnless(LARGE, "5 GB are written and read several times: ORBIT_E2E_LARGE=1 asks for it")
    def test_a_5_gb_file(self):
        """Within the limit of 8 GiB: frozen, sent, checked, run."""
        if shutil.disk_usage(self.dir).free < 24 << 30:
            self.skipTest("needs 24 GiB of free disk: the blob and the attempt's copy")
        self.new_server()
        folder = self.project("stat -c %s huge\n")
        with open(folder / "huge", "wb") as file:
            file.truncate(5_000_000_000)
        run = self.wait_final(self.submit(folder))
        self.assertEqual(run["state"], "succeeded", run)
        self.assertEqual(self.logs(run), b"5000000000\n")


if __name__ == "__main__":
    main()
