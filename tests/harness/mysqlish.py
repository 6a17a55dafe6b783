"""What MariaDB and MySQL share: the client, the account, databases. See mariadb.py and mysql.py.

Character set and collation are always stated: MariaDB 10.11's own default is latin1. Every commit
is flushed, as both servers do by default.
"""

import contextlib
import itertools
import os
import subprocess

from .proc import Server, environment, find_program

FIX = "dev/setup test"
USER, PASSWORD = "tribunal", "tribunal-test"


class MysqlIsh(Server):
    collation = ""

    def __init__(self, flush=True, settings=None):
        super().__init__()
        self.flush = flush
        self.settings = settings or {}
        self._names = itertools.count(1)

    @property
    def socket(self):
        return f"{self.folder}/sock"

    @property
    def url(self):
        return self.url_of("tribunal")

    def url_of(self, database):
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def options(self):
        settings = {
            "datadir": f"{self.folder}/data",
            "tmpdir": self.folder,
            "socket": self.socket,
            "pid-file": f"{self.folder}/pid",
            "bind-address": "127.0.0.1",
            "port": self.port,
            "character-set-server": "utf8mb4",
            "collation-server": self.collation,
            "default-storage-engine": "InnoDB",
            "innodb-flush-log-at-trx-commit": 1 if self.flush else 2,
            "max-connections": 200,
            "skip-name-resolve": "ON",
            **self.settings,
        }
        if os.geteuid() == 0:
            settings["user"] = "root"
        return [f"--{key}={value}" for key, value in settings.items()]

    @staticmethod
    def client():
        return find_program("mariadb", "mysql", fix=FIX)

    def ready(self):
        return self.sql("SELECT 1") == "1"

    def opened(self):
        """The account that tests use. It comes by TCP with a password, as people's programs do."""
        self.sql(f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'; "
                 f"GRANT ALL ON *.* TO '{USER}'@'%'; CREATE DATABASE tribunal")

    def sql(self, statement, database=None):
        """Run a statement as root by the socket; returns its rows, tab-separated, as text."""
        done = subprocess.run(
            [self.client(), "--no-defaults", "-uroot", f"--socket={self.socket}", "--batch",
             "--skip-column-names", "--default-character-set=utf8mb4",
             *([f"--database={database}"] if database else []), "-e", statement],
            capture_output=True, text=True, check=False, timeout=60, env=environment())
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()

    def ask(self, statement, url):
        """Run a statement as a program would: by TCP, with what `url` says."""
        login, _, place = url.removeprefix("mysql://").partition("@")
        user, _, password = login.partition(":")
        port, _, database = place.partition(":")[2].partition("/")
        done = subprocess.run(
            [self.client(), "--no-defaults", f"-u{user}", "--host=127.0.0.1", f"--port={port}",
             "--protocol=tcp", "--batch", "--skip-column-names", "--default-character-set=utf8mb4",
             f"--database={database}", "-e", statement],
            capture_output=True, text=True, check=False, timeout=60,
            env=environment({"MYSQL_PWD": password}))
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()

    @contextlib.contextmanager
    def new_database(self):
        """The URL of a new empty database, dropped afterwards."""
        database = f"t{next(self._names)}"
        self.sql(f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE {self.collation}")
        try:
            yield self.url_of(database)
        finally:
            self.sql(f"DROP DATABASE IF EXISTS {database}")
