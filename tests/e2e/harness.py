"""What the end-to-end tests share: a real server in a directory of its own, the real client, real project folders.

Nothing here fakes anything. Everything started is ended by its process id, every directory is removed, nothing but
loopback is used, and no test waits for a fixed time: wait_until() polls a condition.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORBIT = pathlib.Path(os.environ.get("ORBIT_BIN") or ROOT / "build/release/orbit").resolve()
DIGITS = ROOT / "examples/digits"
PATIENCE_S = 120  # a cap on waiting, for machines under load; never a wait
FINAL = ("succeeded", "failed", "terminated", "interrupted")

# A task type declared by a file (R4): calls the entry with the params and demands nothing else, so that each test can
# say in a few lines of shell what its workload does.
PROBE = """id: probe
description: Calls the entry with its params
inputs:
  output:
    kind: output
    required: false
argv: ["{entry}", "{params}"]
"""


def wait_until(condition, what, seconds=PATIENCE_S):
    """The first true answer of `condition`."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def environment(**more):
    """Nothing of the caller's: neither its tokens nor its git configuration, nor another python3 than the system's."""
    base = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    base.update({key: str(value) for key, value in more.items() if value is not None})
    return base


def alive(pid):
    """Runs: a process that ended and waits to be reaped does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes_below(directory):
    """Ids of the living processes that belong to a directory: by command line, working directory or ORBIT_BUNDLE."""
    needle = os.fsencode(directory)
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read()
            with open(f"/proc/{entry}/environ", "rb") as file:
                bundle = [v for v in file.read().split(b"\0") if v.startswith(b"ORBIT_BUNDLE=")]
            cwd = os.fsencode(os.readlink(f"/proc/{entry}/cwd"))
        except OSError:
            continue
        if (needle in command or cwd.startswith(needle) or any(needle in v for v in bundle)) and alive(int(entry)):
            found.append(int(entry))
    return found


def nothing_runs(directory):
    """Of an attempt that ended. Its runner ends a moment after its result is known; nothing else may be left for long."""
    wait_until(lambda: not processes_below(directory), f"nothing is left running in {directory}")


def kill_all(pids, number=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def git(folder, *arguments):
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main",
                           *arguments], cwd=folder, env=environment(), check=True, capture_output=True, text=True).stdout


class Ran:
    """What a finished command said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        return self.err.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[-2000:]!r}\nstderr: {self.text[-4000:]}"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Server:
    def __init__(self, data, *flags):
        self.data = pathlib.Path(data)
        self.flags = list(flags)
        self.extra_environment = {}
        self.process = None
        self.url = None
        self.log = self.data.parent / (self.data.name + ".log")

    def start(self, wait=True):
        listen = "127.0.0.1:0" if self.url is None else urllib.parse.urlsplit(self.url).netloc
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [ORBIT, "server", "--data", str(self.data), "--listen", listen, *self.flags], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=environment(**self.extra_environment), start_new_session=True)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.said()}")
            try:
                about = json.loads((self.data / "server.json").read_text())
            except (OSError, ValueError):
                return False
            if about["pid"] != self.process.pid:
                return False  # of the server before
            self.url = about["url"]
            return True

        wait_until(ready, "the server is ready")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Graceful; its exit code."""
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE_S)

    def restart(self):
        self.kill()
        self.start()

    def said(self):
        return self.log.read_text(errors="replace")[-4000:]

    @property
    def token(self):
        return (self.data / "keys/admin.token").read_text().strip()

    def attempt_dir(self, attempt):
        return self.data / "attempts" / attempt["id"]

    def journal(self, attempt):
        try:
            lines = (self.attempt_dir(attempt) / "runtime/journal.jsonl").read_text().splitlines()
        except OSError:
            return []
        records = []
        for line in lines:
            try:
                records.append(json.loads(line))
            except ValueError:
                break  # being written
        return records

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        # Runners and workloads outlive their server: that is the point of it.
        wait_until(lambda: not (pids := processes_below(self.data)) or kill_all(pids), "all processes of the test ended")


class Case(unittest.TestCase):
    """A test with a directory of its own, and a client."""

    maxDiff = 4000

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="orbit-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        (self.dir / "home").mkdir()
        self.server = None

    def new_server(self, *flags, data="data", start=True, probe=True):
        server = Server(self.dir / data, *flags)
        self.addCleanup(server.end)
        if probe:
            (server.data / "task-types").mkdir(parents=True, mode=0o700)
            (server.data / "task-types/probe.yaml").write_text(PROBE)
        if start:
            server.start()
        if self.server is None:
            self.server = server
        return server

    # --- the client ---

    def client_environment(self, token=None):
        if self.server is None or self.server.url is None:
            return environment(HOME=self.dir / "home", ORBIT_TOKEN=token)
        return environment(HOME=self.dir / "home", ORBIT_SERVER=self.server.url, ORBIT_TOKEN=token or self.server.token)

    def orbit(self, *arguments, code=0, token=None, cwd=None, stdin=b"", env=None, umask=-1):
        """Runs the client to its end; `code` None: whatever it ends with."""
        done = subprocess.run([ORBIT, *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd or self.dir,
                              env=env or self.client_environment(token), timeout=2 * PATIENCE_S, umask=umask)
        ran = Ran(done.returncode, done.stdout, done.stderr)
        if code is not None:
            self.assertEqual(ran.code, code, f"orbit {' '.join(map(str, arguments))}\n{ran!r}")
        return ran

    def start_orbit(self, *arguments, **more):
        """The client, running. Its output goes to files; see `Running`."""
        return Running(self, [ORBIT, *map(str, arguments)], self.client_environment(), **more)

    def call(self, method, path, body=None, token="", headers=None, raw=False, may_be_cut=False):
        """One request. `token` None: without credentials. `may_be_cut`: what came before the connection was cut will do."""
        host = urllib.parse.urlsplit(self.server.url)
        connection = http.client.HTTPConnection(host.hostname, host.port, timeout=PATIENCE_S)
        try:
            fields = dict(headers or {})
            if token is not None:
                fields["Authorization"] = f"Bearer {token or self.server.token}"
            if body is not None and not raw:
                body = json.dumps(body).encode()
            if body is not None:
                fields.setdefault("Content-Type", "application/json")
            connection.request(method, path, body=body, headers=fields)
            answer = connection.getresponse()
            try:
                return Answer(answer.status, answer.headers, answer.read())
            except http.client.IncompleteRead as cut:
                if not may_be_cut:
                    raise
                return Answer(answer.status, answer.headers, cut.partial)
        finally:
            connection.close()

    # --- projects and runs ---

    def project(self, script, name="p", folder=None, **more):
        """A folder with an entry in shell and its run file; no git."""
        folder = self.dir / (folder or f"src-{name}")
        folder.mkdir()
        entry = folder / "entry.sh"
        entry.write_text(script if script.startswith("#!") else "#!/bin/sh\nset -eu\n" + script)
        entry.chmod(0o755)
        (folder / "run.yaml").write_text(self.run_file(name, **more))
        return folder

    @staticmethod
    def run_file(name="p", task="probe", **more):
        value = {"project": name, "task": task, "template": "local-host", "code": {"source": ".", "entry": "entry.sh"},
                 "environment": "any", **more}
        return json.dumps(value, indent=1) + "\n"  # JSON is YAML

    def submit(self, folder, *arguments, **more):
        return self.orbit("submit", "-f", folder / "run.yaml", "--create-project", "-o", "json", *arguments, **more).json

    def run_of(self, run):
        return self.orbit("run", "show", run if isinstance(run, str) else run["id"], "-o", "json").json

    def wait_state(self, run, *states, attempt=None):
        def reached():
            shown = self.call("GET", f"/api/v1/runs/{run['id']}").json
            last = shown["attempts"][-1]
            if attempt is not None and last["number"] != attempt:
                return None
            if last["state"] in states:
                return shown
            if last["state"] in FINAL:
                raise AssertionError(f"ended {last['state']} ({last['reason']}, {last['detail']}), expected {states}")
            return None

        return wait_until(reached, f"{run['name']} is {' or '.join(states)}")

    def wait_final(self, run, attempt=None):
        return self.wait_state(run, *FINAL, attempt=attempt)

    def logs(self, run, stream="stdout", *arguments):
        return self.orbit("run", "logs", run["id"], "--stream", stream, *arguments).out


class Running:
    """A command that runs beside the test."""

    def __init__(self, case, command, env, cwd=None):
        self.out_path = case.dir / f"out-{time.monotonic_ns()}"
        self.err_path = self.out_path.with_suffix(".err")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                                            cwd=cwd or case.dir, start_new_session=True)
        case.addCleanup(self.end)

    @property
    def out(self):
        return self.out_path.read_bytes()

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    def wait(self):
        return self.process.wait(timeout=4 * PATIENCE_S)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Stream:
    """Server-sent events, read in a thread: a list of (id, event, data)."""

    def __init__(self, case, path, last_event_id=None):
        host = urllib.parse.urlsplit(case.server.url)
        self.connection = http.client.HTTPConnection(host.hostname, host.port, timeout=2 * PATIENCE_S)
        headers = {"Authorization": f"Bearer {case.server.token}", "Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = str(last_event_id)
        self.connection.request("GET", path, headers=headers)
        self.socket = self.connection.sock
        self.answer = self.connection.getresponse()
        case.assertEqual(self.answer.status, 200)
        case.assertIn("text/event-stream", self.answer.headers["Content-Type"])
        self.events = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        case.addCleanup(self.close)

    def _read(self):
        fields = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\n").rstrip("\r")
                if line:
                    key, _, value = line.partition(":")
                    if key:
                        fields[key] = fields[key] + "\n" + value.lstrip(" ") if key in fields else value.lstrip(" ")
                elif fields:
                    if "data" in fields:
                        self.events.append((fields.get("id"), fields.get("event"), fields["data"]))
                    fields = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # cut, or closed by the test

    def close(self):
        try:
            self.socket.shutdown(2)
        except OSError:
            pass
        self.thread.join(timeout=PATIENCE_S)
        self.connection.close()


def main():
    if not ORBIT.exists():
        raise SystemExit(f"there is no {ORBIT}: build it, or set ORBIT_BIN")
    unittest.main(verbosity=2)
