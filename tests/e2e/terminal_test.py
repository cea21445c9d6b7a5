"""What a person at a terminal sees (U2): colours, progress, widths, and nothing of it in a pipe. Through a real pty."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

from harness import ORBIT, PATIENCE_S, Case, main

COLUMNS = 72


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


class Terminal(Case):
    def at_terminal(self, *arguments, **more):
        """Runs the client with a terminal for its three streams; what it wrote, as it was written."""
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        env = self.client_environment()
        env["TERM"] = "xterm-256color"
        env.update(more)
        process = subprocess.Popen([ORBIT, *map(str, arguments)], stdin=secondary, stdout=secondary, stderr=secondary,
                                   env=env, cwd=self.dir, start_new_session=True)
        os.close(secondary)
        out = b""
        try:
            while select.select([primary], [], [], 2 * PATIENCE_S)[0]:
                try:
                    piece = os.read(primary, 65536)
                except OSError:  # the other side is closed
                    break
                if not piece:
                    break
                out += piece
        finally:
            if process.poll() is None and out == b"":
                process.kill()
            code = process.wait(timeout=PATIENCE_S)
            os.close(primary)
        return code, out.decode(errors="replace").replace("\r\n", "\n")

    def lines_fit(self, text):
        for line in plain(text).split("\n"):
            self.assertLessEqual(len(line.split("\r")[-1]), COLUMNS, line)

    def test_uploads_show_their_progress_and_leave_no_trace_of_it(self):
        self.new_server()
        folder = self.project("echo hello\n")
        (folder / "weights.bin").write_bytes(os.urandom(8 << 20))
        code, seen = self.at_terminal("submit", "-f", folder / "run.yaml", "--create-project", "--follow")
        self.assertEqual(code, 0, seen)
        bars = re.findall(r"\ruploading  \[[#-]+\] +(\d+) %  [^\r\x1b]*", seen)
        self.assertGreaterEqual(len(bars), 2, seen)
        self.assertEqual([int(b) for b in bars], sorted(int(b) for b in bars))
        self.assertEqual(bars[-1], "100")
        self.assertIn("\r\x1b[K", seen[seen.rindex("100 %"):], "the bar is wiped when it is done")
        self.assertIn("\nhello\n", plain(seen))
        self.lines_fit(seen)

        piped = self.orbit("submit", "-f", folder / "run.yaml", "--follow")
        self.assertEqual(piped.out, b"hello\n")
        self.assertNotIn("\x1b", piped.text)
        self.assertNotIn("uploading", piped.text)

    def test_tables_fit_the_terminal_and_pipes_get_them_whole(self):
        self.new_server()
        folder = self.project("exit 3\n")
        name = "a-very-long-name-that-no-narrow-terminal-has-room-for-in-a-table"[:60]
        run = self.submit(folder, "--name", name, *(f"--tag=tag-number-{i}" for i in range(8)))
        self.wait_final(run)
        code, seen = self.at_terminal("run", "ls")
        self.assertEqual(code, 0)
        self.lines_fit(seen)
        self.assertIn("\x1b[", seen, "states have a colour")
        self.assertRegex(plain(seen), r"\bfailed\b", "and words")
        _, seen = self.at_terminal("run", "ls", NO_COLOR="1")
        self.assertNotIn("\x1b[3", seen)
        self.assertIn(name, self.orbit("run", "ls").out.decode())
        for arguments in (("run", "events", run["id"]), ("event", "ls"), ("template", "ls"), ("project", "ls"), ("run", "attempts", run["id"])):
            code, seen = self.at_terminal(*arguments)
            self.assertEqual(code, 0, seen)
            self.lines_fit(seen)


if __name__ == "__main__":
    main()
