"""Bad input: each is refused with the field, the file or the key, with its exit code, and records nothing (R1 R3 R4 X4)."""

import json
import os
import shutil
import socket

from harness import Case, git, main


class Refused(Case):
    def setUp(self):
        super().setUp()
        self.new_server()
        self.orbit("project", "create", "p")

    def refused(self, folder, *arguments, code=2, says=(), hint=(), token=None):
        """`orbit submit` ends with `code`, its first line says all of `says`, and nothing was recorded."""
        ran = self.orbit("submit", "-f", folder / "run.yaml", *arguments, code=code, token=token)
        self.assertEqual(ran.out, b"")
        lines = ran.text.splitlines()
        for words in says:
            self.assertIn(words, lines[0], ran)
        for words in (hint,) if isinstance(hint, str) else hint:
            self.assertIn(words, "\n".join(lines[1:]), ran)
        self.assertLess(len(ran.text), 2000, "an error is a few lines")
        self.assertEqual(self.call("GET", "/api/v1/runs").json["items"], [], "nothing half-done")
        return ran

    # --- the run file ---

    def test_unknown_key(self):
        folder = self.project("exit 0\n")
        (folder / "run.yaml").write_text("project: p\ntask: probe\ncode:\n  source: .\n  entri: entry.sh\nenvironment: any\n")
        self.refused(folder, says=("run.yaml:5:", "entri", "unknown key"), hint="did you mean 'entry'?")
        (folder / "run.yaml").write_text("project: p\ntask: probe\nresources:\n  gpu: 1\nenvironment: any\n")
        self.refused(folder, says=("run.yaml:4:", "gpu", "unknown key"), hint="did you mean 'gpus'?")

    def test_files_that_are_no_run_file(self):
        folder = self.project("exit 0\n")
        for name, text, says in (
            ("broken", b"project: [p\n", "run.yaml:"),
            ("twice", b"project: p\nproject: q\ntask: probe\n", "run.yaml:2"),
            ("list", b"- a\n- b\n", "run.yaml"),
            ("empty", b"", "run.yaml"),
            ("binary", bytes(range(256)), "run.yaml"),
            ("bomb", b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
                b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((i + 1, i + 1) + (i,) * 8) for i in range(97, 110)), "run.yaml"),
            ("deep", b"project: " + b"[" * 50_000 + b"\n", "run.yaml"),
            ("large", b"# " + b"x" * 2_000_000 + b"\n", "run.yaml"),
        ):
            with self.subTest(name):
                (folder / "run.yaml").write_bytes(text)
                self.refused(folder, says=(says,))
        (folder / "run.yaml").unlink()
        self.refused(folder, code=3, says=("run.yaml",))
        (folder / "run.yaml").mkdir()
        self.refused(folder, says=("run.yaml", "is not a regular file"))

    def test_no_environment_is_refused_any_must_be_written_out(self):
        """N3."""
        folder = self.project("exit 0\n")
        (folder / "run.yaml").write_text("project: p\ntask: probe\ncode: {source: ., entry: entry.sh}\n")
        self.refused(folder, says=("environment",), hint="any")

    # --- params, resources, overrides are disjoint (R1) ---

    def test_an_override_that_the_template_does_not_allow(self):
        folder = self.project("exit 0\n")
        self.refused(folder, "--set", "image=evil", says=("overrides.image", "template 'local-host'"),
                     hint="it allows: resources.*, runtime_env.*, stop_grace, metrics_file, checkpoints.*")
        self.refused(folder, "--set", "placement=node", says=("overrides.placement", "unknown key"), hint="resources.gpus")
        self.refused(folder, "--set", "resources.no_such=1", says=("no_such",))
        self.refused(folder, "--set", "stop_grace=soon", says=("stop_grace",))
        self.refused(folder, "--set", "novalue", says=("--set",))
        self.refused(folder, "--set", "stop_grace=1s", "--set", "stop_grace=2s", says=("--set", "twice"))

    def test_params_that_the_task_type_refuses(self):
        (self.server.data / "task-types/benchmark.yaml").write_text(
            "id: benchmark\ndescription: d\nparams:\n  type: object\n  required: [repeat]\n  properties:\n"
            "    repeat: {type: integer, minimum: 1, maximum: 10}\n  additionalProperties: false\n"
            "argv: ['{entry}', '{param.repeat}']\n")
        folder = self.project("exit 0\n", task="benchmark")
        self.refused(folder, says=("params", "repeat"))
        self.refused(folder, "--param", "repeat=0", says=("params.repeat",))
        self.refused(folder, "--param", "repeat=x", says=("params.repeat",))
        self.refused(folder, "--param", "repeat=1", "--param", "warmup=1", says=("warmup",))
        self.refused(folder, "--param", "repeat", says=("--param",))

    def test_params_never_reach_a_shell(self):
        """R1, row 6: no id or value from outside reaches a command line but as one argument."""
        marker = self.dir / "marker"
        folder = self.project('printf "%s\\n" "$@"\n')
        values = [f"$(touch {marker})", f"`touch {marker}`", f"'; touch {marker}; '", f'"; touch {marker}; "', "a\tb  c", "-rf", "*", ""]
        arguments = [x for n, v in enumerate(values) for x in ("--param", f"k{n}={json.dumps(v)}")]
        run = self.wait_final(self.submit(folder, *arguments))
        self.assertEqual(self.logs(run).decode().splitlines(), [f"--k{n}={v}" for n, v in enumerate(values)])
        self.assertFalse(marker.exists())

    def test_unknown_template_task_type_project_experiment(self):
        folder = self.project("exit 0\n")
        self.refused(folder, "--template", "local-hots", code=3, says=("template", "'local-hots'"), hint="did you mean 'local-host'?")
        self.refused(folder, "--template", "../../keys/admin", says=("template",))
        self.refused(folder, "--task", "prob", code=None, says=("task", "'prob'"), hint="probe")
        self.refused(folder, "--project", "pp", code=3, says=("project",))
        self.refused(folder, "--experiment", "none", code=3, says=("experiment",))
        for name in ("../x", "a/b", "A B", "", "x" * 300, "a\nb", "-rf"):
            self.refused(folder, f"--name={name}", says=("--name",))
            self.refused(folder, f"--project={name}", says=("--project",))

    # --- entry and data ---

    def test_entry(self):
        folder = self.project("exit 0\n")
        self.refused(folder, "--entry", "missing.sh", says=("entry", "'missing.sh' is not among the files of the code"))
        self.refused(folder, "--entry", "../entry.sh", says=("entry", "climbs"))
        self.refused(folder, "--entry", "a/../../entry.sh", says=("entry", "climbs"))
        self.refused(folder, "--entry", "/bin/sh", says=("entry", "absolute"))
        (folder / "entry.sh").chmod(0o644)
        self.refused(folder, says=("entry", "run bit"), hint="chmod +x")

    def test_dataset(self):
        folder = self.project("exit 0\n", task="training")
        self.refused(folder, says=("inputs.dataset", "is missing"))
        output = ("--input", "output=model")
        self.refused(folder, *output, "--input", "dataset=none.csv", says=("inputs.dataset", "'none.csv'"))
        self.refused(folder, *output, "--input", "dataset=../../etc/passwd", says=("inputs.dataset", "climbs"))
        ran = self.refused(folder, *output, "--input", "dataset=/no/such/data", says=("inputs.dataset", "/no/such/data"))
        self.assertEqual(ran.text.count("inputs.dataset"), 1, ran)
        self.refused(folder, "--input", "dataset=run.yaml", "--input", "output=../model", says=("inputs.output", "climbs"))
        self.refused(folder, "--input", "dataset=run.yaml", "--input", "output=/etc/cron.d/x", says=("inputs.output", "absolute"))
        self.refused(folder, *output, "--input", "dataset=run.yaml", "--input", "dateset=x", says=("dateset",))

    # --- what may be frozen (X4, row 7) ---

    def test_files_that_cannot_be_frozen(self):
        folder = self.project("exit 0\n")
        odd = folder / "odd"

        def device():
            os.mknod(odd, 0o20644, os.makedev(1, 3))

        def unix_socket():
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(odd))

        cases = [
            ("link to a file outside", lambda: odd.symlink_to("/etc/passwd"), ("odd", "leaves the folder")),
            ("link that climbs", lambda: odd.symlink_to("../.."), ("odd", "leaves the folder")),
            ("FIFO", lambda: os.mkfifo(odd), ("odd", "is a FIFO")),
            ("socket", unix_socket, ("odd", "socket")),
        ]
        if os.geteuid() == 0:
            cases.append(("device", device, ("odd", "is a device file")))
        for name, make, says in cases:
            with self.subTest(name):
                make()
                self.refused(folder, says=says)
                odd.unlink()
        for name, shown in ((b"a\nb", "a\\x0ab"), (b"\xff\xfe", "\\xff\\xfe"), (b"\x1b[2J", "\\x1b[2J")):
            with self.subTest(shown):
                path = os.fsencode(folder) + b"/" + name
                open(path, "w").close()
                ran = self.refused(folder, says=(shown,))
                self.assertNotIn("\x1b", ran.text)
                os.unlink(path)
        with self.subTest("deep"):
            deep = folder / "/".join(["d"] * 100)
            deep.mkdir(parents=True)
            (deep / "f").write_text("x")
            self.refused(folder, says=("d/d",))
            shutil.rmtree(folder / "d")

    def test_a_link_to_a_link_that_leaves_git(self):
        folder = self.project("exit 0\n")
        git(folder, "init", "-q")
        (folder / "link").symlink_to("/etc/passwd")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "m")
        self.refused(folder, says=("link", "leaves the folder"))

    def test_sources_that_run_programs(self):
        """Row 15: a repository URL never runs anything."""
        folder = self.project("exit 0\n")
        marker = self.dir / "marker"
        for source in (f"ext::sh -c touch% {marker}", f"--upload-pack=touch {marker}", f"ext://touch {marker}", "fd::17",
                       f"ssh://-oProxyCommand=touch {marker}/x"):
            with self.subTest(source):
                ran = self.orbit("submit", "-f", folder / "run.yaml", f"--source={source}", code=None)
                self.assertNotEqual(ran.code, 0, ran)
                self.assertFalse(marker.exists())
        with self.subTest("hooks and filters of the repository itself"):
            git(folder, "init", "-q")
            git(folder, "add", ".")
            git(folder, "commit", "-q", "-m", "m")
            hook = folder / ".git/hooks/post-checkout"
            hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
            hook.chmod(0o755)
            git(folder, "config", "core.fsmonitor", f"touch {marker}; false")
            git(folder, "config", "diff.external", f"touch {marker}; false")
            (folder / "entry.sh").write_text("#!/bin/sh\nexit 1\n")
            self.orbit("submit", "-f", folder / "run.yaml", "--allow-dirty", "--dry-run", code=None)
            self.assertFalse(marker.exists(), "submitting a folder ran what its repository configures")

    def test_secrets_in_a_source_url_are_refused(self):
        """R15, row 12."""
        folder = self.project("exit 0\n")
        ran = self.orbit("submit", "-f", folder / "run.yaml", "--source", "https://user:hunter2@host.invalid/x.git", code=None)
        self.assertNotEqual(ran.code, 0)
        self.assertNotIn("hunter2", ran.text)

    # --- names, commands, roles ---

    def test_a_command_is_refused_unless_allowed(self):
        folder = self.project("exit 0\n")
        ran = self.orbit("submit", "--project", "p", "--env", "any", "--source", folder, "--", "echo", "x", code=4)
        self.assertIn("task: tasks of type 'command' are not allowed on this server", ran.text)
        self.refused(folder, "--", "echo", "x", says=("command", "task 'probe' takes no command line"))

    def test_a_name_that_is_taken(self):
        folder = self.project("exit 0\n")
        self.submit(folder, "--name", "taken")
        ran = self.orbit("submit", "-f", folder / "run.yaml", "--name", "taken", code=5)
        self.assertIn("name: project 'p' has a run named 'taken' already", ran.text)
        self.assertEqual(len(self.call("GET", "/api/v1/runs").json["items"]), 1)

    def test_runs_that_are_not_there(self):
        for command in ("show", "stop", "rerun", "resume", "logs", "verify", "why", "metrics", "checkpoints", "spec", "events"):
            ran = self.orbit("run", command, "no-such-run", code=3)
            self.assertIn("no-such-run", ran.text)
        self.orbit("run", "show", "../../keys/admin.token", code=None)

    def test_tokens_and_roles(self):
        folder = self.project("exit 0\n")
        self.refused(folder, code=4, token="orbit_wrong", says=("Authorization",))
        environment = self.client_environment()
        del environment["ORBIT_TOKEN"]
        self.assertIn("token", self.orbit("run", "ls", code=4, env=environment).text)
        viewer = self.orbit("token", "create", "ada", "--role", "viewer", "-o", "json").json
        self.refused(folder, code=4, token=viewer["token"], says=("member", "viewer"))
        self.orbit("run", "ls", token=viewer["token"])
        self.orbit("token", "ls", token=viewer["token"], code=4)
        for arguments in (("stop",), ("rerun",), ("resume",), ("verify",)):
            run = self.orbit("run", *arguments, "x", token=viewer["token"], code=None)
            self.assertIn(run.code, (3, 4))
        self.orbit("token", "revoke", viewer["id"])
        self.orbit("run", "ls", token=viewer["token"], code=4)

    def test_a_server_that_is_down(self):
        folder = self.project("exit 0\n")
        self.server.kill()
        ran = self.orbit("submit", "-f", folder / "run.yaml", code=6)
        self.assertIn("cannot reach the server", ran.text)
        self.orbit("run", "ls", code=6)

    def test_usage(self):
        for arguments in (("submitt",), ("run",), ("run", "ls", "--no-such"), ("run", "show"), ("run", "ls", "--state", "odd"),
                          ("run", "ls", "-o", "xml"), ("submit",), ("server", "--no-such")):
            ran = self.orbit(*arguments, code=2)
            self.assertTrue(ran.text, arguments)

    # --- large folders ---

    def test_many_files(self):
        """The limit is 100,000 files: one more is refused by its number; 10,000 make a bundle and run."""
        folder = self.project("ls many/0 many/1 many/2 many/3 many/4 many/5 many/6 many/7 many/8 many/9 | grep -c '^f'\n")
        for d in range(10):
            (folder / f"many/{d}").mkdir(parents=True)
            for n in range(1000):
                (folder / f"many/{d}/f{n}").touch()
        run = self.wait_final(self.submit(folder))
        self.assertEqual(run["state"], "succeeded", run)
        self.assertEqual(self.logs(run), b"10000\n")

    def test_more_files_than_are_allowed(self):
        folder = self.project("exit 0\n")
        (folder / "many").mkdir()
        descriptor = os.open(folder / "many", os.O_RDONLY)
        try:
            for n in range(100_001):
                os.mknod(f"f{n}", 0o100644, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        ran = self.refused(folder, code=None)
        self.assertNotEqual(ran.code, 0)
        self.assertIn("100000", ran.text.replace(",", "").replace("'", ""))

    def test_a_file_larger_than_is_allowed(self):
        """8 GiB is the limit of a bundle; a sparse file of 9 GiB is refused before it is read."""
        folder = self.project("exit 0\n")
        with open(folder / "huge", "wb") as file:
            file.truncate(9 << 30)
        ran = self.refused(folder, code=None)
        self.assertNotEqual(ran.code, 0)
        self.assertIn("8", ran.text)


class Start(Case):
    """What keeps a server from starting: said in words, with its exit code."""

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ran = self.orbit("server", "--data", self.dir / "data", "--listen", f"127.0.0.1:{port}", code=5)
        self.assertIn(f"listen: 127.0.0.1:{port} is already in use", ran.text)
        server = self.new_server(probe=False)  # the refused start left a directory that works
        self.orbit("run", "ls")
        self.assertEqual(server.stop(), 0)

    def test_two_servers_on_one_data_directory(self):
        server = self.new_server()
        ran = self.orbit("server", "--data", server.data, "--listen", "127.0.0.1:0", code=5)
        self.assertIn(f"{server.data}: another server works on this data directory", ran.text)
        self.orbit("run", "ls")  # the first one is not disturbed
        link = self.dir / "link"
        link.symlink_to(server.data)
        self.orbit("server", "--data", link, "--listen", "127.0.0.1:0", code=5)

    def test_configuration(self):
        data = self.dir / "data"
        data.mkdir()
        config = data / "config.yaml"
        for text, says in (
            ("listen: 127.0.0.1:0\nlocal_slotz: 3\n", ("config.yaml:2", "local_slotz", "unknown key", "local_slots")),
            ("local_slots: many\n", ("config.yaml:1", "local_slots", "whole number")),
            ("local_slots: -1\n", ("local_slots",)),
            ("listen: [1]\n", ("config.yaml:1", "listen")),
            ("listen: nowhere\n", ("listen", "nowhere")),
            ("listen: 127.0.0.1:99999\n", ("listen",)),
            ("a: [\n", ("config.yaml",)),
        ):
            with self.subTest(text):
                config.write_text(text)
                ran = self.orbit("server", "--data", data, code=2)
                for words in says:
                    self.assertIn(words, ran.text)
        config.write_text("listen: 127.0.0.1:1\nlog_level: error\n")
        self.orbit("server", "--data", data, "--listen", "127.0.0.1:0", "--log-level", "odd", code=2)  # flag over file

    def test_a_data_directory_that_cannot_be_used(self):
        file = self.dir / "file"
        file.write_text("")
        ran = self.orbit("server", "--data", file, "--listen", "127.0.0.1:0", code=None)
        self.assertNotIn(ran.code, (0, -6, -11))
        self.assertIn(str(file), ran.text)
        broken = self.dir / "broken"
        broken.mkdir()
        (broken / "orbit.db").write_bytes(b"this is no database" * 1000)
        ran = self.orbit("server", "--data", broken, "--listen", "127.0.0.1:0", code=1)
        self.assertIn("orbit.db", ran.text)
        self.assertEqual((broken / "orbit.db").read_bytes(), b"this is no database" * 1000, "and is left as it is")

    def test_the_data_directory_is_the_owners(self):
        """X2, row 12."""
        server = self.new_server(probe=False)
        self.assertEqual(oct((server.data / "keys/admin.token").stat().st_mode & 0o777), "0o600")
        self.assertEqual(oct(server.data.stat().st_mode & 0o077), "0o0")
        self.assertNotIn(server.token.encode(), (server.data / "orbit.db").read_bytes() + server.log.read_bytes() +
                         b"".join(p.read_bytes() for p in server.data.glob("orbit.db-*")))


if __name__ == "__main__":
    main()
