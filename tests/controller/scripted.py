"""A controller that says exactly what a test tells it to: the other end for a judge under test.

It knows the proofs of doc/protocol.md §2.1 and nothing else, so a test can leave out, repeat or
forge any message. The real controller is tested elsewhere, and with real judges.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import socket
import threading

import websockets

SECRET = bytes(range(32))
KEY_ID = "k00000000001"
KEY = f"tj_{KEY_ID}_{SECRET.hex()}"


def _mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def proofs(challenge, nonce, judge_id):
    """What the judge's auth.proof and our welcome.proof have to be."""
    client_key = _mac(SECRET, "tribunal judge")
    stored_key = hashlib.sha256(client_key).digest()
    server_key = _mac(SECRET, "tribunal controller")
    text = "\n".join(["tribunal.judge.v1", challenge, nonce, KEY_ID, judge_id])
    masked = bytes(a ^ b for a, b in zip(client_key, _mac(stored_key, text)))
    return masked.hex(), _mac(server_key, text).hex()


def task(submit_id, run_lease=1, code="verdict:AC", **more):
    return {"type": "task", "submit_id": submit_id, "run_lease": run_lease,
            "ticket": f"t.{submit_id}.{run_lease}", "kind": "judge", "attempt": 1, "generation": 0,
            "task": {"submit_id": submit_id, "problem": {"id": 1, "title": "A+B"},
                     "language": {"slug": "cpp17"}, "code": code}, **more}


class Session:
    """One connection of a judge. All calls from the test's thread; each waits at most 10 s."""

    def __init__(self, controller, ws):
        self._controller, self._ws = controller, ws
        self.closed_with = None

    def _await(self, coroutine, timeout=10):
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, timeout),
                                                self._controller.loop).result()

    def say(self, **frame):
        self._await(self._ws.send(json.dumps(frame)))

    def say_raw(self, frame):
        self._await(self._ws.send(frame))

    def hear(self, *kinds):
        """The next frame; one of these types when some are given, others are passed over."""
        while True:
            frame = json.loads(self._await(self._ws.recv()))
            if not kinds or frame["type"] in kinds:
                return frame

    def heard_close(self):
        """Wait until the judge has closed; its code."""
        self._await(self._ws.wait_closed())
        return self._ws.close_code

    def close(self, code=1000):
        self._await(self._ws.close(code))

    def cut(self):
        """End the TCP connection without a word."""
        self._controller.loop.call_soon_threadsafe(self._ws.transport.abort)

    def greet(self, protocol=1):
        challenge = secrets.token_hex(32)
        self.say(type="challenge", protocol=protocol, controller_id="script", version="0",
                 nonce=challenge)
        return challenge

    def welcome(self, heartbeat_ms=5000, running=None):
        """The whole greeting; returns the judge's `ready`."""
        challenge = self.greet()
        auth = self.hear("auth")
        theirs, ours = proofs(challenge, auth["nonce"], auth["judge_id"])
        assert auth["proof"] == theirs and auth["key_id"] == KEY_ID and auth["protocol"] == 1
        self.say(type="welcome", proof=ours, credential="ts_secret", session="1",
                 heartbeat_ms=heartbeat_ms, grace_ms=10000, lease_ms=3 * heartbeat_ms + 10000,
                 max_frame=16777216)
        ready = self.hear("ready")
        if running is not None:
            assert [(r["submit_id"], r["run_lease"]) for r in ready.get("running", [])] == running
        return ready

    def settle(self, frame, outcome="finished"):
        self.say(type="settled", submit_id=frame["submit_id"], run_lease=frame["run_lease"],
                 outcome=outcome)


class Controller:
    """Listens on a free port; a context manager."""

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._fresh = asyncio.Queue()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        self._server = self._run(self._serve())
        return self

    async def _serve(self):
        return await websockets.serve(self._accept, sock=self._socket, ping_interval=None,
                                      subprotocols=["tribunal.judge.v1"], max_size=None)

    async def _accept(self, ws):
        await self._fresh.put(ws)
        await ws.wait_closed()

    def _run(self, coroutine, timeout=15):
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, timeout),
                                                self.loop).result()

    def next_judge(self):
        """The next connection, in at most 15 s."""
        return Session(self, self._run(self._fresh.get()))

    def __exit__(self, *_):
        self._server.close()
        self._run(self._server.wait_closed())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
