"""A judge that does what its script says: an independent client of doc/protocol.md §2.

Blocking calls over python3-websockets; one thread runs its event loop.
"""

import asyncio
import hashlib
import hmac
import json
import queue
import secrets
import threading
import time

import websockets


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def proofs(key, challenge, nonce, judge_id):
    """The judge's proof and the one it expects from the controller."""
    _, key_id, digits = key.split("_")
    secret = bytes.fromhex(digits)
    client = mac(secret, b"tribunal judge")
    text = "\n".join(["tribunal.judge.v1", challenge, nonce, key_id, judge_id]).encode()
    mask = mac(hashlib.sha256(client).digest(), text)
    mine = bytes(a ^ b for a, b in zip(client, mask)).hex()
    return mine, mac(mac(secret, b"tribunal controller"), text).hex()


class Closed(Exception):
    def __init__(self, code, reason):
        super().__init__(f"closed {code} {reason}")
        self.code, self.reason = code, reason


class Socket:
    """A WebSocket with blocking send() and receive()."""

    def __init__(self, url, headers=None, subprotocol=None, trust=None):
        self.trust = trust  # an ssl context, for wss
        self._messages = queue.Queue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._ws = self._do(self._open(url, headers, subprotocol))
        self._reader = asyncio.run_coroutine_threadsafe(self._read(), self._loop)

    async def _open(self, url, headers, subprotocol):
        return await websockets.connect(url, extra_headers=headers or {}, max_size=None,
                                        subprotocols=[subprotocol] if subprotocol else None,
                                        ping_interval=None, open_timeout=10, close_timeout=2,
                                        ssl=self.trust)

    async def _read(self):
        try:
            async for message in self._ws:
                self._messages.put(json.loads(message))
        except websockets.ConnectionClosed:
            pass
        self._messages.put(Closed(self._ws.close_code, self._ws.close_reason))

    def _do(self, coroutine, timeout=15):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout)

    def send(self, message):
        self._do(self._ws.send(message if isinstance(message, (str, bytes)) else json.dumps(message)))

    def receive(self, timeout=10):
        """The next message; raises Closed when there is none any more."""
        try:
            message = self._messages.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no message within {timeout} s") from None
        if isinstance(message, Closed):
            self._messages.put(message)
            raise message
        return message

    def expect(self, kind, timeout=10, **members):
        """The next message of this type, others skipped."""
        deadline = time.monotonic() + timeout
        while True:
            message = self.receive(max(0.01, deadline - time.monotonic()))
            if message["type"] == kind and all(message.get(k) == v for k, v in members.items()):
                return message

    def closed(self, timeout=10):
        """Wait for the end; returns its code and reason."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.receive(max(0.01, deadline - time.monotonic()))
            except Closed as end:
                return end

    def close(self):
        if self._thread.is_alive():
            self._do(self._ws.close())
            self._end()

    def cut(self):
        """As if the cable were pulled: no closing handshake."""
        self._loop.call_soon_threadsafe(self._ws.transport.abort)
        self._reader.result(5)
        self._end()

    def _end(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)


class Judge(Socket):
    """A proven judge; ready() makes it take tasks."""

    def __init__(self, server, judge_id="judge-1", key="judge", prove=True, trust=None):
        super().__init__(f"ws{'s' if trust else ''}://127.0.0.1:{server.port}/ws/judge",
                         subprotocol="tribunal.judge.v1", trust=trust)
        self.server, self.judge_id = server, judge_id
        self.key = server.keys.get(key, key)
        self.challenge = self.expect("challenge")
        self.seq = 0
        if prove:
            self.auth()

    def auth(self):
        nonce = secrets.token_hex(32)
        proof, want = proofs(self.key, self.challenge["nonce"], nonce, self.judge_id)
        self.send({"type": "auth", "protocol": 1, "key_id": self.key.split("_")[1], "nonce": nonce,
                   "judge_id": self.judge_id, "version": "test", "proof": proof})
        self.welcome = self.expect("welcome")
        assert self.welcome["proof"] == want
        self.credential = self.welcome["credential"]

    def ready(self, tokens=4, languages=("cpp17", "c11", "python3"), **more):
        self.send({"type": "ready", "tokens": tokens, "memory_mib": 8192, "cores": 2,
                   "languages": [{"slug": s, "version": "test"} for s in languages], **more})
        return self

    def beat(self, running=()):
        self.seq += 1
        self.send({"type": "heartbeat", "seq": self.seq, "load": 0.5, "slots": 4,
                   "busy": len(running), "running": [fence(t) for t in running]})
        return self.expect("beat", seq=self.seq)

    def task(self, timeout=10):
        return self.expect("task", timeout)

    def answer(self, task, kind="result", verdict="AC", **more):
        message = {"type": kind, **fence(task), "ticket": task["ticket"]}
        if kind == "result":
            message |= {"status": "FINISHED", "score": 100 if verdict == "AC" else 0,
                        "result": {"verdict": verdict, "accepted_test": 1, "total_test": 1,
                                   "time_ms": 3, "memory_kb": 1024, "cases": [
                                       {"id": 1, "status": verdict, "time_ms": 3}]}}
        self.send(message | more)

    def settle(self, task, **more):
        """Answer and wait for the commit; returns the outcome."""
        self.answer(task, **more)
        return self.expect("settled", submit_id=task["submit_id"])["outcome"]


def fence(task):
    return {"submit_id": task["submit_id"], "run_lease": task["run_lease"]}
