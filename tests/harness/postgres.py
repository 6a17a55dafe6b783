"""PostgreSQL for tests: a cluster of its own from the installed binaries, never the system's.

Durable by default (fsync on), because crash tests are meant to mean something;
Postgres(fsync=False) is for tests that only need SQL. Listens on 127.0.0.1 and on a socket in
its folder. UTF-8, sorted by code point.
"""

import contextlib
import glob
import itertools
import os
import pwd
import signal
import subprocess

from .proc import Server, Unavailable, environment, find_program, first_line_of

FIX = "dev/setup test"
TOOLS = ("initdb", "postgres", "psql")


class Postgres(Server):
    name = "postgres"
    user = "postgres"  # it refuses to run as root
    end_signal = signal.SIGINT  # "fast": a smart shutdown would wait for clients

    def __init__(self, fsync=True, settings=None):
        super().__init__()
        self.fsync = fsync
        self.settings = settings or {}
        self._names = itertools.count(1)

    @classmethod
    def find(cls):
        """The folder that holds initdb, postgres and psql; the newest when there are several."""
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True,
                         key=lambda path: int(path.split("/")[-2].split(".")[0]))
        for folder in folders:
            if all(os.access(f"{folder}/{tool}", os.X_OK) for tool in TOOLS):
                break
        else:
            folder = os.path.dirname(find_program("initdb", fix=FIX))
        if os.geteuid() == 0:
            try:
                pwd.getpwnam(cls.user)
            except KeyError:
                reason = "PostgreSQL refuses root and there is no user postgres"
                raise Unavailable(reason, FIX) from None
        return folder

    @classmethod
    def version(cls):
        return first_line_of(f"{cls.find()}/postgres", "--version").split()[2]

    @property
    def url(self):
        return self.url_of("tribunal")

    def url_of(self, database):
        return f"postgres://tribunal@127.0.0.1:{self.port}/{database}"

    def prepare(self):
        self.run(f"{self.find()}/initdb", "--pgdata", f"{self.folder}/data",
                 "--username", "tribunal", "--auth", "trust", "--encoding", "UTF8",
                 "--locale", "C.UTF-8", "--no-sync", "--no-instructions")

    def command(self):
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "fsync": "on" if self.fsync else "off",
            "synchronous_commit": "on" if self.fsync else "off",
            "full_page_writes": "on" if self.fsync else "off",
            "max_connections": 200,
            # Files below the data folder: what a kill -9 leaves goes with the folder.
            "dynamic_shared_memory_type": "mmap",
            **self.settings,
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        return [f"{self.find()}/postgres", "-D", f"{self.folder}/data", *options]

    def ready(self):
        return self.sql("SELECT 1") == "1"

    def opened(self):
        self.sql("CREATE DATABASE tribunal TEMPLATE template0")

    def sql(self, statement, database="postgres"):
        """Run a statement through psql; returns its rows, unaligned, as text."""
        done = subprocess.run(
            [f"{self.find()}/psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
             "-p", str(self.port), "-U", "tribunal", "-d", database, "-c", statement],
            capture_output=True, text=True, check=False, timeout=60,
            env=environment({"PGCONNECT_TIMEOUT": "10"}))
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()

    @contextlib.contextmanager
    def new_database(self):
        """The URL of a new empty database, dropped afterwards even if someone is connected."""
        database = f"t{next(self._names)}"
        self.sql(f"CREATE DATABASE {database} TEMPLATE template0")
        try:
            yield self.url_of(database)
        finally:
            self.sql(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
