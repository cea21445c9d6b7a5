"""The API from outside: who may call what, what comes back, and what never does (X1 X2 X4 U4, facts of security 1-6, 11, 12, 17, 18)."""

import hashlib
import json
import socket
import urllib.parse

from harness import Case, Stream, main, wait_until


def filled(path):
    return path.replace("{n}", "1").replace("{stream}", "stdout").replace("{digest}", "0" * 64).replace("{path}", "stdout") \
        .replace("{", "x").replace("}", "")


class Access(Case):
    def operations(self):
        api = self.call("GET", "/api/v1/openapi.json").json
        for path, methods in api["paths"].items():
            for method, operation in methods.items():
                if method in ("get", "put", "post", "patch", "delete", "head"):
                    yield method.upper(), path, operation

    def test_every_route_but_health_is_401_without_a_credential(self):
        """X1, rows 1 and 2."""
        server = self.new_server()
        self.assertTrue(server.url.startswith("http://127.0.0.1:"))  # X2
        operations = list(self.operations())
        self.assertGreater(len(operations), 35)
        seen = set()
        for method, path, operation in operations:
            if path == "/healthz":
                continue
            seen.add(path)
            self.assertIn(operation["x-orbit-role"], ("viewer", "member", "operator", "admin"), path)
            answer = self.call(method, filled(path), {} if method in ("POST", "PATCH", "PUT") else None, token=None)
            self.assertEqual(answer.status, 401, f"{method} {path}: {answer}")
            self.assertEqual([answer.json["code"], answer.json["field"]], ["unauthenticated", "Authorization"])
            self.assertIn("application/problem+json", answer.headers["Content-Type"])
            self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
        for path in ("/metrics", "/api/v1/openapi.json", "/api/v1/runs", "/api/v1/events"):
            self.assertIn(path, seen)
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)

    def test_wrong_tokens_are_401_and_guessing_is_slowed_down(self):
        server = self.new_server()
        self.assertEqual(self.call("GET", "/api/v1/runs").status, 200)
        for token in ("orbit_" + "A" * 43, "x", server.token[:-1], server.token + "x", server.token.lower(), server.token[6:]):
            self.assertEqual(self.call("GET", "/api/v1/runs", token=token).status, 401, token)
        statuses = [self.call("GET", "/api/v1/runs", token=f"orbit_{n:043}").status for n in range(100)]
        self.assertEqual(set(statuses), {401, 429})
        self.assertEqual(self.call("GET", "/api/v1/runs").status, 200, "whoever guesses does not lock out those who were in")

    def test_other_ways_to_pass_a_credential_are_none(self):
        server = self.new_server()
        for headers, path in (({"Cookie": f"token={server.token}"}, "/api/v1/runs"),
                              ({"Authorization": f"Basic {server.token}"}, "/api/v1/runs"),
                              ({}, f"/api/v1/runs?token={server.token}"), ({}, f"/api/v1/runs?access_token={server.token}"),
                              ({"X-Auth-Token": server.token}, "/api/v1/runs"), ({"X-Forwarded-For": "127.0.0.1"}, "/api/v1/runs")):
            self.assertEqual(self.call("GET", path, token=None, headers=headers).status, 401, (headers, path))
        # None of it reaches a log (row 12).
        self.assertNotIn(server.token, server.log.read_text())

    def test_each_role_may_what_its_routes_declare(self):
        """Row 11: no name's prefix and no missing scope gives more."""
        self.new_server()
        order = ["viewer", "member", "operator", "admin"]
        tokens = {role: self.call("POST", "/api/v1/tokens", {"name": f"t-{role}", "role": role}).json["token"] for role in order}
        for method, path, operation in self.operations():
            if path == "/healthz" or (method, path) == ("GET", "/api/v1/events"):
                continue
            needed = order.index(operation["x-orbit-role"])
            for role in order:
                answer = self.call(method, filled(path), {} if method in ("POST", "PATCH", "PUT") else None, token=tokens[role])
                if order.index(role) < needed:
                    self.assertEqual(answer.status, 403, f"{method} {path} as {role}: {answer}")
                    self.assertEqual([answer.json["code"], answer.json["field"]], ["refused", "Authorization"])
                else:
                    self.assertNotIn(answer.status, (401, 403), f"{method} {path} as {role}: {answer}")
                self.assertLess(answer.status, 500, f"{method} {path} as {role}: {answer}")

    def test_revoked_and_expired_tokens(self):
        self.new_server()
        made = self.call("POST", "/api/v1/tokens", {"name": "a", "role": "admin"}).json
        self.assertEqual(self.call("GET", "/api/v1/whoami", token=made["token"]).json["role"], "admin")
        self.assertNotIn("token", [k for k, v in self.call("GET", "/api/v1/tokens").json["items"][-1].items() if v and k == "token"])
        self.assertEqual(self.call("DELETE", f"/api/v1/tokens/{made['id']}").status, 200)
        self.assertEqual(self.call("GET", "/api/v1/whoami", token=made["token"]).status, 401)
        self.server.restart()
        self.assertEqual(self.call("GET", "/api/v1/whoami", token=made["token"]).status, 401)
        short = self.call("POST", "/api/v1/tokens", {"name": "b", "role": "viewer", "expires_in_s": 1}).json
        wait_until(lambda: self.call("GET", "/api/v1/whoami", token=short["token"]).status == 401, "the token expires")
        for body, field in (({"name": "c"}, "role"), ({"name": "c", "role": "root"}, "role"), ({"name": "../c", "role": "viewer"}, "name"),
                            ({"name": "c", "role": "viewer", "expires_in_s": 0}, "expires_in_s"), ({"name": "c", "role": "viewer", "x": 1}, "x")):
            answer = self.call("POST", "/api/v1/tokens", body)
            self.assertEqual([answer.status, answer.json["field"]], [400, field], answer)


class Answers(Case):
    def test_security_headers(self):
        self.new_server()
        for path, token in (("/healthz", None), ("/api/v1/runs", ""), ("/api/v1/runs", None), ("/no/such", ""), ("/metrics", "")):
            answer = self.call("GET", path, token=token)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff", path)
            self.assertIn("default-src", answer.headers["Content-Security-Policy"] or "", path)
            self.assertTrue((answer.headers["X-Frame-Options"] or "") == "DENY" or "frame-ancestors" in answer.headers["Content-Security-Policy"])
            self.assertIn("no-store", answer.headers["Cache-Control"] or "", path)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
            self.assertIsNone(answer.headers["Set-Cookie"])

    def test_logs_and_artifacts_are_downloads_not_pages(self):
        self.new_server()
        run = self.wait_final(self.submit(self.project(
            'echo "<script>alert(1)</script>" | tee "$ORBIT_ARTIFACTS/page.html"\n')))
        for path in (f"/api/v1/runs/{run['id']}/attempts/1/logs/stdout", f"/api/v1/runs/{run['id']}/attempts/1/artifacts/page.html",
                     f"/api/v1/runs/{run['id']}/bundle/job.json"):
            answer = self.call("GET", path)
            self.assertEqual(answer.status, 200, path)
            self.assertNotIn("html", answer.headers["Content-Type"])
            self.assertIn("attachment", answer.headers["Content-Disposition"])
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def test_bodies(self):
        """10 MB, depth, and everything that is no JSON object: a problem with its field, the server goes on."""
        self.new_server()
        answer = self.call("POST", "/api/v1/runs", b"x" * 10_000_000, raw=True)
        self.assertEqual([answer.status, answer.json["code"], answer.json["field"]], [413, "too_large", "body"])
        self.assertIn("1048576", answer.json["detail"])
        for body, says in ((b"[" * 1_000_000, "nested"), (b'{"a":' * 100_000, "nested"), (b"", ""), (b"{", ""), (b"[]", ""), (b"null", ""),
                           (b"\xff\xfe", ""), (b'{"submission":{}, "submission":{}}', ""), (b'{"submission": 1}', "submission"),
                           (b"1e999999", ""), (b'{"a":"\\ud800"}', ""), (b"\0" * 100, "")):
            answer = self.call("POST", "/api/v1/runs", body, raw=True)
            self.assertEqual(answer.status, 400, f"{body[:40]!r}: {answer}")
            self.assertIn("application/problem+json", answer.headers["Content-Type"])
            self.assertEqual({"type", "title", "status", "code", "detail", "field", "hint"}, set(answer.json))
            self.assertIn(says, answer.json["detail"] + str(answer.json["field"]))
        answer = self.call("POST", "/api/v1/runs", b"{}", raw=True, headers={"Content-Type": "text/html"})
        self.assertIn(answer.status, (400, 415))
        answer = self.call("POST", "/api/v1/projects", {"name": "p", "nmae": "q"})
        self.assertEqual([answer.status, answer.json["field"]], [400, "nmae"])
        self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)

    def test_chunked_bodies_have_the_same_limit(self):
        self.new_server()
        host = urllib.parse.urlsplit(self.server.url)
        with socket.create_connection((host.hostname, host.port), timeout=60) as s:
            s.sendall(f"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.server.token}\r\n"
                      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            try:
                for _ in range(40):
                    s.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                s.sendall(b"0\r\n\r\n")
            except OSError:
                pass  # it hung up: the answer may still be there
            try:
                answer = s.recv(4096)
            except ConnectionResetError:
                answer = b"HTTP/1.1 413 "
        self.assertTrue(answer.startswith(b"HTTP/1.1 413 "), answer)

    def test_methods_and_routes_that_are_not_there(self):
        self.new_server()
        for method, path, status in (("GET", "/api/v1/none", 404), ("GET", "/api/v2/runs", 404), ("DELETE", "/api/v1/runs", 405),
                                     ("TRACE", "/api/v1/runs", 405), ("GET", "/", 404), ("GET", "/api/v1/runs/none", 404),
                                     ("GET", "/api/v1/runs?limit=0", 400), ("GET", "/api/v1/runs?limit=x", 400),
                                     ("GET", "/api/v1/runs?lmit=1", 400), ("GET", "/api/v1/runs?cursor=../x", 400),
                                     ("GET", "/api/v1/runs?state=odd", 400), ("GET", "/api/v1/runs/:key", 400),
                                     ("GET", "/api/v1/runs/{run}", 400)):
            answer = self.call(method, path)
            wanted = (status,) if status != 405 else (404, 405, 501)
            self.assertIn(answer.status, wanted, f"{method} {path}: {answer}")

    def test_pages_go_on_where_they_ended(self):
        self.new_server("--local-slots", "0")
        folder = self.project("exit 0\n")
        names = [self.submit(folder, "--name", f"n{i}")["name"] for i in range(7)]
        seen, cursor = [], None
        while True:
            page = self.call("GET", "/api/v1/runs?limit=3" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else "")).json
            self.assertLessEqual(len(page["items"]), 3)
            seen += [r["name"] for r in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(seen, names[::-1])

    def test_slow_and_many_connections_do_not_starve_others(self):
        """Row 17."""
        self.new_server()
        host = urllib.parse.urlsplit(self.server.url)
        open_ = []
        try:
            for n in range(300):
                s = socket.create_connection((host.hostname, host.port), timeout=60)
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: " if n % 2 else b"")
                open_.append(s)
            self.assertEqual(self.call("GET", "/healthz", token=None).status, 200)
            self.assertEqual(self.call("GET", "/api/v1/runs").status, 200)
        finally:
            for s in open_:
                s.close()
        with socket.create_connection((host.hostname, host.port), timeout=60) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * 100_000 + b"\r\n\r\n")
            answer = s.recv(100)
        self.assertRegex(answer, rb"^HTTP/1.1 (400|431) ")


class Paths(Case):
    """Rows 3, 4, 6, 18: a path from outside is decoded once, checked, and opened beneath its root."""

    def test_nothing_outside_is_read_written_or_deleted(self):
        server = self.new_server()
        secret = b"canary-" + server.token[-12:].encode()
        canary = self.dir / "canary"
        canary.write_bytes(secret)
        inside = server.data / "attempts/canary"
        inside.write_bytes(secret)
        run = self.wait_final(self.submit(self.project(
            f'echo fine > "$ORBIT_ARTIFACTS/a"\nln -s {self.dir} "$ORBIT_ARTIFACTS/out"\n')))
        base = f"/api/v1/runs/{run['id']}"
        ups = ["..", "%2e%2e", "%2E%2e", ".%2e", "%252e%252e", "..%00", "..;", "..;a=b", "%c0%ae%c0%ae", "..%5c", "..\\", "．．", "%uff0e%uff0e"]
        slashes = ["/", "%2f", "%252f", "\\", "%5c", "//", "/./"]
        targets = ["canary", "keys/admin.token", "server.json", "orbit.db", "etc/passwd"]
        paths = ["file:///etc/passwd", "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "out/canary", "out%2fcanary", "a/../../../canary",
                 "a%00", "a%00.txt", "", ".", "..", "/", "%", "%zz", "a\\..\\..", f"{canary}", f"file:{canary}", "a;x=1/../..", "a/", "runtime/order.json",
                 "../runtime/order.json", "../bundle.json", "%2e%2e/runtime/order.json", "stdout/../../runtime/order.json"]
        for up in ups:
            for slash in slashes:
                for depth, target in ((1, targets[0]), (2, targets[0]), (3, targets[1]), (4, targets[0]), (3, targets[3])):
                    paths.append((up + slash) * depth + target)
        # Written to the socket as it is: no client library repairs it.
        host = urllib.parse.urlsplit(server.url)
        for route in (f"{base}/attempts/1/artifacts/", f"{base}/bundle/", f"{base}/attempts/1/logs/", "/api/v1/templates/", "/api/v1/task-types/",
                      "/api/v1/projects/", "/api/v1/runs/"):
            with socket.create_connection((host.hostname, host.port), timeout=120) as s:
                stream = s.makefile("rwb")
                for path in paths:
                    target = (route + path).encode("utf-8", "surrogateescape")
                    stream.write(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n\r\n")
                    stream.flush()
                    status, body, more = self.read_answer(stream)
                    self.assertNotIn(secret, body, target)
                    self.assertNotIn(b"root:", body, target)
                    self.assertNotIn(b'"token"', body, target)
                    self.assertNotIn(b"SQLite format", body, target)
                    self.assertIn(status, (200, 400, 403, 404, 405, 409), f"{target!r}: {status} {body[:300]!r}")
                    if status == 200:
                        self.assertTrue(b"fine" in body or b'"items"' in body or not body, f"{target!r}: {body[:300]!r}")
                    if not more:
                        s.close()
                        s = socket.create_connection((host.hostname, host.port), timeout=120)
                        self.addCleanup(s.close)
                        stream = s.makefile("rwb")
        # As a digest, and as a name that becomes a file.
        for digest in ("../../keys/admin.token", "..%2f..%2fcanary", "A" * 64, "0" * 63, "0" * 65, "%00" * 64):
            answer = self.call("PUT", f"/api/v1/blobs/{digest}", b"overwritten", raw=True, headers={"Content-Type": "application/octet-stream"})
            self.assertIn(answer.status, (400, 404, 405), f"{digest}: {answer}")
        answer = self.call("PUT", f"/api/v1/blobs/{'0' * 64}", b"not these bytes", raw=True, headers={"Content-Type": "application/octet-stream"})
        self.assertIn(answer.status, (400, 409, 422, 500), answer)
        self.assertNotEqual(answer.status, 500, answer)
        self.assertEqual([canary.read_bytes(), inside.read_bytes()], [secret, secret])
        self.orbit("run", "verify", run["id"])

    def read_answer(self, stream):
        status = int(stream.readline().split()[1])
        length, more = 0, True
        while (line := stream.readline()).strip():
            key, _, value = line.partition(b":")
            if key.lower() == b"content-length":
                length = int(value)
            if key.lower() == b"connection" and value.strip().lower() == b"close":
                more = False
        return status, stream.read(length), more


class Events(Case):
    def test_the_feed_resumes_without_gaps_or_repetition(self):
        """U4."""
        self.new_server()
        folder = self.project("echo hi\n")
        runs = [self.submit(folder, "--name", f"n{i}") for i in range(3)]
        for run in runs:
            self.wait_final(run)
        everything = self.call("GET", "/api/v1/events?limit=1000").json["items"]
        sequence = [e["seq"] for e in everything]
        self.assertGreater(len(sequence), 15)
        self.assertEqual(sequence, sorted(set(sequence)))

        first = Stream(self, "/api/v1/events?after=0")
        wait_until(lambda: len(first.events) >= 5, "the first events")
        first.close()
        last = first.events[4][0]
        second = Stream(self, "/api/v1/events", last_event_id=last)
        wait_until(lambda: len(first.events[:5]) + len(second.events) >= len(sequence), "the rest")
        got = [int(e[0]) for e in first.events[:5] + second.events]
        self.assertEqual(got[:len(sequence)], sequence)

        # Across a crash: what happens while nobody listens comes after the reconnect.
        resume = second.events[-1][0]
        second.close()
        self.server.restart()
        self.wait_final(self.submit(folder, "--name", "later"))
        third = Stream(self, "/api/v1/events", last_event_id=resume)
        wanted = [e["seq"] for e in self.call("GET", "/api/v1/events?limit=1000").json["items"] if e["seq"] > int(resume)]
        self.assertTrue(wanted)
        wait_until(lambda: len(third.events) >= len(wanted), "what happened meanwhile")
        self.assertEqual([int(e[0]) for e in third.events][:len(wanted)], wanted)
        data = json.loads(third.events[-1][2])
        self.assertEqual(data["seq"], int(third.events[-1][0]))

        # Live: a listener from now on sees the whole life of a run, in the order of the transition table (R6).
        run = self.submit(folder, "--name", "live")
        self.wait_final(run)
        told = [e for e in self.call("GET", f"/api/v1/runs/{run['id']}/events?limit=1000").json["items"]]
        self.assertTrue(all(t["actor"] for t in told), told)
        wait_until(lambda: len([e for e in third.events if run["id"] in e[2]]) >= len(told), "the live events")
        self.assertEqual([int(e[0]) for e in third.events if run["id"] in e[2]], [t["seq"] for t in told])

    def test_the_newest_are_the_end_of_the_list_oldest_first(self):
        self.new_server()
        folder = self.project("echo hi\n")
        first = self.submit(folder, "--name", "first")
        self.wait_final(first)
        for i in range(14):  # so that the first one's events lie far back
            self.wait_final(self.submit(folder, "--name", f"n{i}"))
        of_first = f"/api/v1/runs/{first['id']}/events"
        for path in ("/api/v1/events", of_first):
            whole = self.call("GET", f"{path}?limit=1000").json["items"]
            for count in (1, 2, 3, len(whole), 1000):
                answer = self.call("GET", f"{path}?newest={count}").json
                self.assertEqual(answer, {"items": whole[-count:], "next_cursor": None}, f"{path} {count}")
            for query in ("newest=0", "newest=1001", "newest=x", "newest=5&after=1"):
                answer = self.call("GET", f"{path}?{query}")
                self.assertEqual([answer.status, answer.json["field"]], [400, "newest"], f"{path} {query}")

        # The client shows the newest unless it is told where to begin.
        whole = self.call("GET", "/api/v1/events?limit=1000").json["items"]
        self.assertGreater(len(whole), 100)
        seqs = [e["seq"] for e in whole]

        def shown(*arguments):
            lines = self.orbit("event", "ls", *arguments).out.decode().splitlines()
            return [int(line.split()[0]) for line in lines[1:]]

        self.assertEqual(shown(), seqs[-100:])
        self.assertEqual(shown("--limit", "7"), seqs[-7:])
        self.assertEqual(shown("--after", seqs[0], "--limit", "3"), seqs[1:4])
        self.assertEqual(shown("--run", "first", "--limit", "2"), [e["seq"] for e in self.call("GET", of_first).json["items"]][-2:])
        self.assertEqual([e["seq"] for e in self.orbit("event", "ls", "--limit", "7", "-o", "json").json["items"]], seqs[-7:])
        self.assertIn("--limit", self.orbit("event", "ls", "--limit", "1001", code=2).text)
        self.server.restart()  # which has published nothing yet
        items = self.orbit("event", "ls", "-o", "json").json["items"]
        self.assertEqual(len(items), 100)
        self.assertEqual([e["seq"] for e in items if e["seq"] in seqs][-50:], seqs[-50:])

    def test_the_events_of_a_run_followed(self):
        self.new_server("--local-slots", "0")
        run = self.submit(self.project("echo hi\n"))
        follow = self.start_orbit("run", "events", run["name"], "--follow", "-o", "json")
        lines = self.start_orbit("run", "events", run["name"], "--follow")
        told = self.call("GET", f"/api/v1/runs/{run['id']}/events").json["items"]
        wait_until(lambda: follow.out.count(b"\n") >= len(told), "the story so far")
        self.orbit("run", "stop", run["name"])
        wait_until(lambda: b'"terminated"' in follow.out and b"terminated" in lines.out, "what happened meanwhile")
        told = self.call("GET", f"/api/v1/runs/{run['id']}/events").json["items"]
        wait_until(lambda: follow.out.count(b"\n") >= len(told), "all of it")
        self.assertEqual([json.loads(line) for line in follow.out.splitlines()], told)
        self.assertIsNone(follow.process.poll(), "until Ctrl-C")

    def test_bad_resume_points(self):
        self.new_server()
        for value in ("x", "-1", "1e9", "99999999999999999999999"):
            answer = self.call("GET", "/api/v1/events", headers={"Accept": "text/event-stream", "Last-Event-ID": value})
            self.assertEqual([answer.status, answer.json["field"]], [400, "Last-Event-ID"], value)

    def test_a_log_followed_by_offset(self):
        """R12: an event's id is the offset behind it; `end` tells the end from a cut."""
        self.new_server()
        run = self.submit(self.project("for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.05; done\n"))
        path = f"/api/v1/runs/{run['id']}/attempts/1/logs/stdout"
        live = Stream(self, path)
        wait_until(lambda: any(e[1] == "end" for e in live.events), "the end is told")
        self.assertEqual([e[1] for e in live.events].count("end"), 1)
        expected = "".join(f"line {i}\n" for i in range(1, 9)).encode()
        self.assertEqual(self.call("GET", path).body, expected)
        self.assertEqual(int([e for e in live.events if e[1] == "log"][-1][0]), len(expected))
        again = Stream(self, path, last_event_id=14)
        wait_until(lambda: any(e[1] == "end" for e in again.events), "the end is told again")
        self.assertEqual(int([e for e in again.events if e[1] == "log"][-1][0]), len(expected))
        ended = Stream(self, path, last_event_id=len(expected))
        wait_until(lambda: any(e[1] == "end" for e in ended.events), "at once")
        self.assertEqual([e for e in ended.events if e[1] == "log"], [])

    def test_idempotent_submission(self):
        """R9: the same request sent twice, because an answer was lost, makes one run."""
        self.new_server("--local-slots", "0")
        self.orbit("project", "create", "p")
        entry = b"#!/bin/sh\necho once\n"
        files = json.dumps({"files": [{"executable": True, "path": "inputs/code/entry.sh", "sha256": hashlib.sha256(entry).hexdigest(),
                                       "size_bytes": len(entry)}], "schema": 1}, separators=(",", ":")).encode()
        for content in (entry, files):
            answer = self.call("PUT", f"/api/v1/blobs/{hashlib.sha256(content).hexdigest()}", content, raw=True,
                               headers={"Content-Type": "application/octet-stream"})
            self.assertIn(answer.status, (200, 201, 204), answer)
        like = self.submit(self.project("exit 0\n"))
        submission = self.call("GET", f"/api/v1/runs/{like['id']}/spec").json["submission"]
        body = {"id": "01" + "0" * 24, "submission": submission, "data": [], "files": hashlib.sha256(files).hexdigest(),
                "code": {"source": "/x", "commit": None, "dirty": False, "patch": None, "key_files": {}}}
        first = self.call("POST", "/api/v1/runs", body)
        again = self.call("POST", "/api/v1/runs", body)
        self.assertEqual([first.status, again.status], [201, 200], [first, again])
        self.assertEqual(first.json, again.json)
        self.server.restart()
        self.assertEqual(self.call("POST", "/api/v1/runs", body).json["id"], first.json["id"])
        self.assertEqual(len(self.call("GET", "/api/v1/runs").json["items"]), 2)
        other = json.loads(json.dumps(body))
        other["submission"]["params"] = {"lr": "0.5"}
        answer = self.call("POST", "/api/v1/runs", other)  # the same id for something else is no repetition
        self.assertEqual(answer.status, 409, answer)


if __name__ == "__main__":
    main()
