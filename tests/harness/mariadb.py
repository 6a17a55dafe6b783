"""MariaDB for tests, from Debian's packages. See mysqlish.py for what it shares with MySQL."""

import os

from .mysqlish import FIX, MysqlIsh
from .proc import Unavailable, find_program, first_line_of


class MariaDB(MysqlIsh):
    name = "mariadb"
    collation = "utf8mb4_bin"

    @classmethod
    def find(cls):
        cls.client()
        find_program("mariadb-install-db", fix=FIX)
        return find_program("mariadbd", fix=FIX)

    @classmethod
    def version(cls):
        line = first_line_of(cls.find(), "--version")
        if "MariaDB" not in line:
            raise Unavailable(f"mariadbd says it is something else: {line}", FIX)
        return line.split("Ver ")[1].split("-")[0]

    def prepare(self):
        install = find_program("mariadb-install-db", fix=FIX)
        user = ["--user=root"] if os.geteuid() == 0 else []
        # normal: root by the socket with no password, whoever runs the tests.
        self.run(install, "--no-defaults", f"--datadir={self.folder}/data", "--skip-test-db",
                 "--auth-root-authentication-method=normal", "--skip-name-resolve", *user)

    def command(self):
        return [self.find(), "--no-defaults", *self.options()]
