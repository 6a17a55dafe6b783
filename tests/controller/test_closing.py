"""Whoever is closed hears why: every WebSocket that tribunald ends gets a closing frame with a code.

A connection that merely breaks (1006) looks like a bad network, and a client cannot know whether to
come back at once, later or never (doc/protocol.md §5).
"""

import contextlib

import pytest

from controller.judge import Socket

TIMES = 5  # of each: an end that depends on the moment shows sooner


@contextlib.contextmanager
def socket_of(server, kind, role=None):
    web = Socket(f"ws://127.0.0.1:{server.port}/ws/{kind}",
                 headers={"Authorization": "Bearer " + server.keys[role]} if role else None,
                 subprotocol=f"tribunal.{kind}.v1")
    try:
        yield web
    finally:
        with contextlib.suppress(Exception):
            web.close()


@pytest.mark.parametrize("kind", ["judge", "backend"])
@pytest.mark.parametrize("said,code,reason", [
    ("{", 4002, "bad_json"),
    (b"binary", 1003, "not_text: expected JSON text frames"),
    ("x" * 2_000_000, 1009, "too_large"),
], ids=["no-json", "binary", "too-large"])
def test_nonsense_is_closed_with_its_code(server, kind, said, code, reason):
    for _ in range(TIMES):
        with socket_of(server, kind) as web:
            with contextlib.suppress(Exception):  # it may close while we still send
                web.send(said)
            end = web.closed()
            assert (end.code, end.reason) == (code, reason)


def test_a_wrong_key_is_closed_with_its_code(server):
    for _ in range(TIMES):
        with socket_of(server, "backend") as web:
            web.send({"type": "auth", "key": "tr_" + "0" * 32})
            end = web.closed()
            assert (end.code, end.reason) == (4001, "bad_key")


@pytest.mark.parametrize("kind", ["judge", "backend"])
def test_a_close_of_the_other_side_is_answered(server, kind):
    for _ in range(TIMES):
        with socket_of(server, kind) as web:
            web.close()
            assert web.closed().code == 1000


def test_a_controller_that_stops_tells_everybody(own, judges):
    server = own()
    live = judges(server).ready()
    with socket_of(server, "judge") as greeted, socket_of(server, "backend", "submit") as web, \
            socket_of(server, "backend") as silent:
        web.expect("welcome")
        live.beat()
        server.stop()
        assert live.expect("bye")["code"] == "shutdown"
        for one in (live, greeted, web, silent):
            end = one.closed()
            assert (end.code, end.reason) == (1001, "shutdown")
