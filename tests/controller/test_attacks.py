"""What somebody tries who means harm, or whose client is odd: doors, bodies, keys, names."""

import json
import os
import re
import socket
import subprocess
import time

import pytest

from controller.test_chaos import SOAK
from harness import wait_until
from judge import Socket
from tribunald import CLI, Tribunald

GOOD = {"problem": "a-plus-b", "language": "cpp17", "code": "int main(){}"}


@pytest.fixture(scope="module")
def opened():
    with Tribunald("--open-loopback") as running:
        yield running


THE_END = b"nothing but the end"


def raw(server, head, body=b"", until=(THE_END,), timeout=10):
    """Send these lines and bytes, say no more once one of `until` has come; all that came."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as conn:
        conn.sendall("\r\n".join([*head, "", ""]).encode() + body)
        came = b""
        while not any(text in came for text in until) and (piece := conn.recv(65536)):
            came += piece
        conn.shutdown(socket.SHUT_WR)
        while piece := conn.recv(65536):
            came += piece
        return came


# ---------------------------------------------------------------- doors

# What a browser says when a stranger's page sends it here. {port} is ours.
STRANGERS = {
    "another site": ["Host: 127.0.0.1:{port}", "Origin: http://evil.example"],
    "another port": ["Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:1"],
    "no site at all": ["Host: 127.0.0.1:{port}", "Origin: null"],
    "a name that was made to lead here": ["Host: evil.example:{port}",
                                          "Origin: http://evil.example:{port}"],
    "the same, looking like an address": ["Host: 127.evil.example:{port}",
                                          "Origin: http://127.evil.example:{port}"],
    "a name that begins like ours": ["Host: localhost.evil.example:{port}",
                                     "Origin: http://localhost.evil.example:{port}"],
    "a name of 250 letters": ["Host: 127.0.0.1:{port}",
                              "Origin: http://" + ".".join(["a" * 61] * 4) + ":{port}"],
    "a name that fits in no buffer": ["Host: 127.0.0.1:{port}", "Origin: http://" + "a" * 3000],
    "a proxy for the whole world": ["Host: 127.0.0.1:{port}", "X-Forwarded-For: 192.0.2.1"],
}
NEIGHBOURS = {
    "a program": ["Host: 127.0.0.1:{port}"],
    "our own page": ["Host: localhost:{port}", "Origin: http://localhost:{port}"],
    "another of our addresses": ["Host: 127.0.0.2:{port}", "Origin: http://127.0.0.2:{port}"],
    "by its other address": ["Host: [::1]:{port}", "Origin: http://[::1]:{port}"],
}


def request_role(server, headers):
    answer = raw(server, ["GET /api/v1/whoami HTTP/1.1", *headers, "Connection: close"], until=[b"}"])
    return json.loads(answer.split(b"\r\n\r\n")[1])["role"]


def websocket_role(server, headers):
    """admin: a frame is answered; none: the connection is closed for want of a key."""
    ping = b'{"type":"ping"}'
    came = raw(server, ["GET /ws/backend HTTP/1.1", *headers, "Upgrade: websocket",
                        "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
               bytes([0x81, 0x80 | len(ping), 0, 0, 0, 0]) + ping, until=[b"pong", b"auth_timeout"])
    assert came.startswith(b"HTTP/1.1 101"), came
    return "admin" if b"pong" in came else "none"


@pytest.mark.parametrize("ask", [request_role, websocket_role])
@pytest.mark.parametrize("who, role", [*((w, "none") for w in STRANGERS),
                                       *((w, "admin") for w in NEIGHBOURS)])
def test_the_open_door_is_for_this_machine_alone(opened, ask, who, role):
    headers = (STRANGERS | NEIGHBOURS)[who]
    assert ask(opened, [line.replace("{port}", str(opened.port)) for line in headers]) == role


def test_a_revoked_key_ends_what_it_opened(server):
    key = server.new_key("read")
    backend = Socket(f"ws://127.0.0.1:{server.port}/ws/backend",
                     headers={"Authorization": f"Bearer {key}"})
    assert backend.expect("welcome")["role"] == "read"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as stream:
        stream.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}"
                       "\r\n\r\n".encode())
        assert b"hello" in stream.recv(1000)
        subprocess.run([CLI, "keys", "revoke", key.split("_")[1], "--db", server.database],
                       check=True, capture_output=True)
        assert backend.expect("error")["code"] == "bad_key"
        assert backend.closed().code == 4001
        while stream.recv(65536):
            pass
    backend.close()


def test_a_submitter_hears_of_its_submissions_and_nothing_else(server, judges):
    backend = Socket(f"ws://127.0.0.1:{server.port}/ws/backend",
                     headers={"Authorization": f"Bearer {server.keys['submit']}"})
    backend.expect("welcome")
    backend.send({"type": "subscribe", "submit_ids": ["", "mine"]})
    backend.expect("subscribed")
    judges(server, "seen").ready().beat()  # whoever listens to everything is told
    backend.send({"type": "ping"})
    assert backend.receive()["type"] == "pong"
    backend.close()


# ---------------------------------------------------------------- requests

def test_who_offers_http_2_is_answered_in_http_1(server):
    came = raw(server, ["GET /healthz HTTP/1.1", "Host: x", "Connection: Upgrade, HTTP2-Settings",
                        "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"], until=[b"ok\n"])
    assert came.startswith(b"HTTP/1.1 200 OK")


POST = ["POST /api/v1/submissions HTTP/1.1", "Host: x"]


@pytest.mark.parametrize("label, head, body, status", [
    ("chunks", ["Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n", 411),
    ("chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 2"], b"{}", 411),
    ("two lengths", ["Content-Length: 2", "Content-Length: 30"], b"{}", 400),
    ("the same length twice", ["Content-Length: 2", "Content-Length: 2"], b"{}", 400),
    ("a sign", ["Content-Length: +2"], b"{}", 400),
    ("below nothing", ["Content-Length: -2"], b"{}", 400),
])
def test_a_length_that_proxies_may_read_otherwise_is_refused(server, label, head, body, status):
    """With a sentence, and the connection ends: what follows is nobody's next request."""
    key = f"Authorization: Bearer {server.keys['submit']}"
    came = raw(server, [*POST, key, *head], body + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
               until=[b"}}"])
    assert came.startswith(f"HTTP/1.1 {status} ".encode()) and b"Connection: close" in came, came
    assert came.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("who", [None, "tk_abcdefghijkl_" + "0" * 64, "read"])
def test_who_may_not_ask_sends_no_body(server, who):
    """The refusal comes while the body does: nothing of it is kept for strangers."""
    key = [f"Authorization: Bearer {server.keys.get(who, who)}"] if who else []
    path = "/api/v1/judges/j/drain" if who == "read" else "/api/v1/submissions"
    came = raw(server, [f"POST {path} HTTP/1.1", "Host: x", *key, "Content-Length: 4000000"], b"{",
               until=[b"}}"])
    assert came.split()[1] == (b"403" if who == "read" else b"401")
    assert b"Connection: close" in came


def test_a_key_made_a_moment_ago_may_send_a_large_body(server):
    answer = server.ask("POST", "/api/v1/submissions", {**GOOD, "code": "/" * 900000},
                        key=server.new_key("submit"))
    assert answer.status == 201, answer.body


def test_nobody_reads_a_large_body_of_a_get(server):
    came = raw(server, ["GET /healthz HTTP/1.1", "Host: x", "Content-Length: 4000000"], b"x",
               until=[b"}}"])
    assert came.split()[1] == b"413"
    assert server.ask("GET", "/healthz", b"{}", key=None).status == 200


def test_head_of_a_stream_ends(server):
    came = raw(server, ["HEAD /api/v1/events HTTP/1.1", "Host: x",
                        f"Authorization: Bearer {server.keys['read']}"])
    assert came.startswith(b"HTTP/1.1 200") and came.endswith(b"\r\n\r\n")


@pytest.mark.skipif(not SOAK, reason="half a minute of silence; TRIBUNAL_SOAK=1")
def test_who_never_reads_its_answer_is_hung_up_on(own, judges):
    server = own()
    big = server.data / "problems/a-plus-b/big.in"
    big.write_bytes(os.urandom(20_000_000))
    (big.parent / "big.ans").write_text("1\n")
    server.ask("POST", "/api/v1/problems/rescan")
    handle = server.get("/api/v1/problems/a-plus-b")["data"]
    judge = judges(server).ready()
    before = len(os.listdir(f"/proc/{server._pid}/fd"))
    with socket.create_connection(("127.0.0.1", server.port)) as conn:
        conn.sendall(f"GET /judge/v1/data/{handle} HTTP/1.1\r\nHost: x\r\n"
                     f"Authorization: Bearer {judge.credential}\r\n\r\n".encode())
        conn.recv(100)
        until = time.monotonic() + 60
        while len(os.listdir(f"/proc/{server._pid}/fd")) > before:
            assert time.monotonic() < until, "the connection and its file are still open"
            judge.beat()
            time.sleep(1)


# ---------------------------------------------------------------- names of their own

OWN = {"slug": "mine", "run_cmd": ["/bin/true"], "source_filename": "a.txt"}


@pytest.mark.parametrize("label, language, code", [
    ("commands that are none", {"slug": "zzz", "run_cmd": None}, "unknown_language"),
    ("a name for the metrics", {**OWN, "slug": 'x",verdict="AC"} 9\n'}, "bad_field"),
    ("a long name", {**OWN, "slug": "x" * 65}, "bad_field"),
])
def test_a_language_of_ones_own_needs_commands_and_a_plain_name(server, label, language, code):
    answer = server.ask("POST", "/api/v1/submissions", {**GOOD, "language": language})
    assert (answer.status, answer.error["code"]) == (422, code)
    assert "zzz" not in server.ask("GET", "/api/v1/queues").body.decode()


def test_what_a_client_brings_along_is_no_sign_against_what_is_here(own, judges):
    """Faults of a task with its own tests and commands, called as ours are, set nothing aside."""
    server = own()
    judge = judges(server).ready(languages=["cpp17"], tokens=8, classes=["light", "heavy"])
    problem = {"title": "a-plus-b", "test_data_zip": "http://192.0.2.1/none.zip"}
    for i in range(9):
        server.submit(problem=problem, language={**OWN, "slug": "cpp17"}, submit_id=f"own{i}")
        assert judge.settle(judge.task(), kind="fault",
                            **{"class": "fatal", "message": "nothing there"}) == "dead"
    assert server.get("/api/v1/set-asides")["set_asides"] == []
    server.submit(problem=problem, language={**OWN, "slug": "fancy"}, submit_id="fancy")
    judge.settle(judge.task())
    labels = set(re.findall(r'lang="([^"]*)"', server.ask("GET", "/metrics").body.decode()))
    assert labels == {"cpp17", "custom"}
    for i in range(9):  # as it should be
        server.submit(submit_id=f"ours{i}")
        judge.settle(judge.task(), kind="fault", **{"class": "fatal", "message": "broken"})
        if i == 7:
            break
    wait_until(lambda: server.get("/api/v1/set-asides")["set_asides"], 10, "a set-aside")
