"""NATS with JetStream for tests: one server, or a cluster of three.

Client is a small speaker of the NATS text protocol, enough to ask JetStream things; it is
for the harness and for tests of the harness, not a stand-in for the library that the product uses.

A request of Client.request() is sent once, and while a cluster elects a leader it is lost without a
word. ask() and publish() of a server or a cluster therefore send again until they have an answer.
"""

import contextlib
import http.client
import json
import socket
import uuid

from .proc import Server, find_program, first_line_of, free_port, port_was_taken
from .wait import wait_until

FIX = "dev/setup test"

# Answers of JetStream's that mean "not now": no leader yet, or not this one, or not in time.
NOT_NOW = {10004, 10008, 10009, 10118}


class Asked:
    """What a server and a cluster have in common: they are asked until they answer."""

    def ask(self, subject, body=b"", timeout=60.0, msg_id=None):
        """The answer to a request that may be sent twice: it only looks, or its repeat does no more
        than it did. "No such thing" is an answer."""
        def answer():
            with self.client() as client:
                got = client.request(subject, body, msg_id)
            if got.get("error", {}).get("err_code") in NOT_NOW:
                raise RuntimeError(got["error"])
            return got
        return wait_until(answer, timeout, f"an answer to {subject}")

    def publish(self, subject, body, timeout=60.0):
        """Put one message into a stream, once however often it is sent; returns JetStream's ack."""
        return self.ask(subject, body, timeout, msg_id=uuid.uuid4().hex)


class Nats(Asked, Server):
    name = "nats"

    def __init__(self, options=(), server_name="n1"):
        super().__init__()
        self.options = list(options)
        self.server_name = server_name
        self.monitor_port = None

    @classmethod
    def find(cls):
        return find_program("nats-server", fix=FIX)

    @classmethod
    def version(cls):
        return first_line_of(cls.find(), "--version").split()[-1].lstrip("v")

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def take_ports(self):
        super().take_ports()
        self.monitor_port = free_port()

    def command(self):
        return [self.find(), "--name", self.server_name, "--addr", "127.0.0.1",
                "--port", str(self.port), "--http_port", str(self.monitor_port),
                "--jetstream", "--store_dir", f"{self.folder}/data", *self.options]

    def ready(self):
        with self.client() as client:
            return "streams" in client.request("$JS.API.INFO")

    def client(self):
        return Client(self.port)

    def monitor(self, path):
        """A page of the server's monitoring port, as JSON; for example "/jsz"."""
        conn = http.client.HTTPConnection("127.0.0.1", self.monitor_port, timeout=5)
        with contextlib.closing(conn):
            conn.request("GET", path)
            return json.load(conn.getresponse())


class Node(Nats):
    """A member of a Cluster; started and watched by it."""

    def __init__(self, server_name, port, route_port, routes):
        super().__init__(server_name=server_name, options=[
            "--cluster_name", "tribunal", "--cluster", f"nats://127.0.0.1:{route_port}",
            "--routes", ",".join(f"nats://127.0.0.1:{other}" for other in routes)])
        self.name = f"nats-{server_name}"
        self._fixed_port = port

    def take_ports(self):
        self.port, self.monitor_port = self._fixed_port, free_port()

    def ready(self):
        # JetStream answers when the cluster has a leader, and we may be its first node.
        with self.client():
            return True


class Cluster(Asked):
    """Three JetStream nodes that know each other; `nodes` is the list of them."""

    name = "nats_cluster"

    def __init__(self):
        self.nodes = []

    @classmethod
    def find(cls):
        return Nats.find()

    @classmethod
    def version(cls):
        return Nats.version()

    @property
    def urls(self):
        return [node.url for node in self.nodes]

    @property
    def url(self):
        """All the nodes, separated by commas, as NATS clients take them."""
        return ",".join(self.urls)

    def variables(self):
        return {"TRIBUNAL_TEST_NATS_CLUSTER": self.url}

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start the nodes; returns self when they have a leader. Harmless the second time."""
        if self.nodes:
            return self
        for left in (2, 1, 0):
            try:
                return self._start_nodes()
            except BaseException as err:
                self.stop()
                if left == 0 or not port_was_taken(err):
                    raise
        return None

    def _start_nodes(self):
        # The nodes must know each other's ports beforehand, so they are chosen here, once for all.
        ports = [free_port() for _ in range(6)]
        self.nodes = [Node(f"n{i + 1}", ports[i], ports[3 + i], ports[3:]) for i in range(3)]
        for node in self.nodes:
            node.start()
        self.wait_for_peers(3)
        return self

    def stop(self):
        nodes, self.nodes = self.nodes, []
        for node in nodes:
            node.stop()

    def kill9(self):
        """SIGKILL for all the nodes; kill9() of a node is the usual thing."""
        for node in self.nodes:
            node.kill9()

    def restart(self):
        for node in self.nodes:
            node.restart()
        self.wait_for_peers(3)

    def running(self):
        return [node for node in self.nodes if node.pid is not None]

    def leader(self, timeout=60.0):
        """The running node that leads JetStream's meta group; waits until all agree on it."""
        return wait_until(self._leader, timeout, "the NATS cluster to have a leader")

    def stream_leader(self, stream, timeout=60.0):
        """The running node that leads one stream."""
        return wait_until(lambda: self._stream_leader(stream), timeout,
                          f"stream {stream} to have a leader")

    def wait_for_peers(self, count, timeout=60.0):
        """Wait until the leader sees `count` members, itself included, online and up to date."""
        wait_until(lambda: self._peers() >= count, timeout, f"{count} NATS nodes to be current")

    def client(self):
        """A client of any running node."""
        return self.running()[0].client()

    def log_tail(self, lines=30):
        return "".join(f"--- {node.server_name}\n{node.log_tail(lines)}" for node in self.nodes)

    def _leader(self):
        named = {node.monitor("/jsz")["meta_cluster"].get("leader") for node in self.running()}
        return self._node(named.pop()) if len(named) == 1 else None

    def _peers(self):
        replicas = self.leader().monitor("/jsz")["meta_cluster"]["replicas"]
        return 1 + sum(1 for peer in replicas if peer["current"] and not peer.get("offline"))

    def _stream_leader(self, stream):
        with self.client() as client:
            info = client.request(f"$JS.API.STREAM.INFO.{stream}")
        return self._node(info["cluster"].get("leader"))

    def _node(self, server_name):
        for node in self.running():
            if node.server_name == server_name:
                return node
        return None  # a node that is down is still called leader for a moment


class Client:
    """One connection in NATS's text protocol; a context manager."""

    def __init__(self, port, timeout=5.0):
        self._conn = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._lines = self._conn.makefile("rb")
        self._inbox = 0
        self.info = json.loads(self._line().removeprefix("INFO "))
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        self._send(f"CONNECT {json.dumps(options)}\r\nPING\r\n")
        while self._line() != "PONG":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._lines.close()
        self._conn.close()

    def request(self, subject, body=b"", msg_id=None):
        """Publish bytes, or what becomes JSON, with a reply subject; returns the reply, parsed.
        A stream keeps one message of those that carry the same msg_id."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._inbox += 1
        reply = f"_INBOX.harness.{id(self)}.{self._inbox}"
        headers = f"NATS/1.0\r\nNats-Msg-Id: {msg_id}\r\n\r\n".encode() if msg_id else b""
        size = f"{len(headers)} {len(headers) + len(payload)}" if headers else f"{len(payload)}"
        head = (f"SUB {reply} {self._inbox}\r\nUNSUB {self._inbox} 1\r\n"
                f"{'HPUB' if headers else 'PUB'} {subject} {reply} {size}\r\n")
        # In two pieces it takes 40 ms.
        self._conn.sendall(head.encode() + headers + payload + b"\r\n")
        while True:
            words = self._line().split()
            if words[0] == "MSG":
                return json.loads(self._lines.read(int(words[-1]) + 2))
            if words[0] == "HMSG":
                return self._with_headers(subject, int(words[-2]), int(words[-1]))
            if words[0] == "-ERR":
                raise RuntimeError(" ".join(words))

    def _with_headers(self, subject, skip, size):
        whole = self._lines.read(size + 2)
        first = whole.splitlines()[0].decode().strip()
        if first != "NATS/1.0":  # a status and no body: nobody listens, or nothing is there
            raise RuntimeError(f"{subject}: {first}")
        return json.loads(whole[skip:])

    def _send(self, text):
        self._conn.sendall(text.encode())

    def _line(self):
        while True:
            line = self._lines.readline()
            if not line:
                raise ConnectionError("the NATS server closed the connection")
            if line == b"PING\r\n":
                self._send("PONG\r\n")
                continue
            return line.decode().rstrip("\r\n")
