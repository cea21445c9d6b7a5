"""A PostgreSQL of the test's own: its files below a directory, reached by a socket there and in no other way."""

import os
import pathlib
import signal
import subprocess
import tempfile

from harness import environment, wait_until

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")


class Postgresql:
    def __init__(self):
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.temporary = tempfile.TemporaryDirectory(prefix="orbit-pg-", dir=shared, ignore_cleanup_errors=True)
        self.directory = pathlib.Path(self.temporary.name)
        self.directory.chmod(0o777)
        # PostgreSQL refuses to be root's.
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        self.process = None
        subprocess.run([PROGRAMS / "initdb", "-D", self.directory / "data", "-U", "orbit", "-A", "trust", "-E", "UTF8",
                        "--locale=C.UTF-8", "--no-sync"], check=True, capture_output=True, env=environment(), cwd="/",
                       **self.user)
        self.start()

    @property
    def url(self):
        return f"postgresql://orbit@/postgres?host={self.directory}"

    def start(self):
        with open(self.directory / "postgres.log", "ab") as log:
            self.process = subprocess.Popen([PROGRAMS / "postgres", "-D", self.directory / "data", "-k", self.directory,
                                             "-c", "listen_addresses="], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment(), cwd="/", start_new_session=True, **self.user)
        wait_until(lambda: self.psql("SELECT 1", check=False).returncode == 0, "PostgreSQL is ready")

    def stop(self):
        """As in a crash: nothing is told to anybody."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None

    def psql(self, sql, check=True):
        return subprocess.run([PROGRAMS / "psql", "-XAtq", "-d", self.url, "-c", sql], check=check, capture_output=True,
                              text=True, env=environment(), cwd="/")

    def end(self):
        self.stop()
        self.temporary.cleanup()
