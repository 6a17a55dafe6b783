"""Redis for tests: a cache that keeps nothing on disk."""

import socket

from .proc import Server, find_program, first_line_of

FIX = "dev/setup test"


class Redis(Server):
    name = "redis"

    @classmethod
    def find(cls):
        return find_program("redis-server", fix=FIX)

    @classmethod
    def version(cls):
        return first_line_of(cls.find(), "--version").split("v=")[1].split()[0]

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def command(self):
        return [self.find(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.folder,
                "--save", "", "--appendonly", "no"]

    def ready(self):
        return self.ask("PING") == "+PONG"

    def ask(self, *words):
        """Send one command; returns the reply's first line, or the text of a bulk string."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as conn:
            parts = [f"*{len(words)}\r\n"]
            parts += [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
            conn.sendall("".join(parts).encode())
            with conn.makefile("rb") as lines:
                first = lines.readline().decode().rstrip("\r\n")
                if first.startswith("$") and first != "$-1":
                    return lines.read(int(first[1:])).decode()
                return first
