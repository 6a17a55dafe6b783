"""A proxy before a database that loses the answers to some COMMITs: done, and nobody told."""

import contextlib
import socket
import threading


class CommitEater:
    """Every `every`-th COMMIT that passes is carried out, and its connection then breaks before the
    answer; 0: none. A context manager."""

    def __init__(self, server_port, every=0):
        self.every, self.eaten = every, 0
        self._server_port, self._seen = server_port, 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                line = {"eat": False}
                for where, to, towards in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._carry, args=(where, to, towards, line),
                                     daemon=True).start()

    def _to_be_eaten(self, data):
        # PostgreSQL ends its text with a NUL, MySQL with the packet; BEGIN says READ COMMITTED.
        if b"COMMIT\0" not in data and not data.endswith(b"COMMIT"):
            return False
        with self._lock:
            self._seen += 1
            eat = self.every > 0 and self._seen % self.every == 0
            self.eaten += eat
            return eat

    def _carry(self, where, to, towards_server, line):
        try:
            while data := where.recv(65536):
                if towards_server:
                    line["eat"] = line["eat"] or self._to_be_eaten(data)
                elif line["eat"]:
                    break  # the server has answered: it is committed
                to.sendall(data)
        except OSError:
            pass
        for one in (where, to):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
