"""What the shipped binary weighs: facts, not timings (part 1, "Shown by")."""

import pathlib
import subprocess
import unittest

from harness import ORBIT, Case, main


@unittest.skipUnless("build/release" in str(ORBIT), "speaks of the release binary")
class Footprint(Case):
    def test_a_stripped_binary_has_at_most_12_mb(self):
        stripped = self.dir / "orbit"
        subprocess.run(["strip", "-o", str(stripped), str(ORBIT)], check=True)
        self.assertLessEqual(stripped.stat().st_size, 12_000_000)

    def test_at_most_6_shared_libraries(self):
        """As ldd counts them: the loader too, the kernel's own page not."""
        lines = subprocess.run(["ldd", str(ORBIT)], check=True, capture_output=True, text=True).stdout.splitlines()
        libraries = [line.split()[0] for line in lines if "linux-vdso" not in line]
        self.assertLessEqual(len(libraries), 6, libraries)

    def test_an_idle_server_has_at_most_20_mb_resident(self):
        server = self.new_server()
        self.orbit("run", "ls")
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        resident_kb = int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])
        self.assertLessEqual(resident_kb, 20 * 1000)


if __name__ == "__main__":
    main()
