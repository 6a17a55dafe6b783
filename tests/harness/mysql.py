"""MySQL for tests: the real one, not MariaDB. See mysqlish.py for what the two share.

The system's mysqld when it is MySQL, else the tree that dev/servers/mysql unpacked.
"""

import os
import shutil

from .mysqlish import MysqlIsh
from .proc import Unavailable, cache_dir, first_line_of


class MySQL(MysqlIsh):
    name = "mysql"
    collation = "utf8mb4_0900_bin"

    @classmethod
    def find(cls):
        cls.client()
        unpacked = os.path.join(cache_dir(), "mysql", "bin", "mysqld")
        if os.access(unpacked, os.X_OK):
            return unpacked
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
        system = shutil.which("mysqld", path=path)
        if system and "MariaDB" not in first_line_of(system, "--version"):
            return system
        raise Unavailable("no MySQL server here (MariaDB is another)", "dev/servers/mysql")

    @classmethod
    def version(cls):
        return first_line_of(cls.find(), "--version").split("Ver ")[1].split()[0].split("-")[0]

    def prepare(self):
        user = ["--user=root"] if os.geteuid() == 0 else []
        self.run(self.find(), "--no-defaults", "--initialize-insecure", "--skip-log-bin",
                 f"--datadir={self.folder}/data", *user)

    def command(self):
        return [self.find(), "--no-defaults", "--mysqlx=OFF", *self.options()]
