"""Real servers for tests, each on a free loopback port with its own data folder.

    with Postgres() as server, server.new_database() as url: ...

Fixtures are in tests/conftest.py; for programs in other languages there is
`python3 -m harness up postgres mysql -- CMD` and, to see what this machine has,
`python3 -m harness check`. Standard library only.

Never fetches or installs anything: dev/setup and dev/servers/* do that.
"""

from .chromium import Chromium
from .mariadb import MariaDB
from .mysql import MySQL
from .nats import Cluster, Nats
from .postgres import Postgres
from .proc import Server, Unavailable
from .redis import Redis
from .s3 import S3
from .wait import wait_until

# In the order in which `check` shows them; the names are what `up` and the fixtures use.
SERVERS = {cls.name: cls for cls in (Postgres, MariaDB, MySQL, Nats, Cluster, Redis, S3, Chromium)}

__all__ = ["SERVERS", "Server", "Unavailable", "wait_until",
           *(cls.__name__ for cls in SERVERS.values())]
