"""OpenStack Swift with s3api, as the S3 server of machines that have no MinIO. Used through s3.py.

A single node: account, container and object servers with one partitioned device (a folder), a
memcached, and the proxy in front with `s3api tempauth`, which checks signatures. All its
configuration lies in the server's folder; /etc/swift is neither read nor written.
"""

import os
import pwd

from .proc import Unavailable, find_program, free_port

FIX = "apt-get install swift-proxy swift-account swift-container swift-object memcached"
PYTHON = "/usr/bin/python3"  # Swift is a Debian package: it needs Debian's Python

# Every Swift program reads its cluster's secrets from a fixed folder; this names another first.
RUN = """
import runpy, sys
from swift.common import utils
utils.set_swift_dir(sys.argv[1])
del sys.argv[0:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# Rings say where a name's data lies: 2^2 partitions, one copy, one device.
RINGS = """
import sys
from swift.common import utils
utils.set_swift_dir(sys.argv[1])
from swift.common.ring import RingBuilder
for pair in sys.argv[2:]:
    name, port = pair.split(":")
    builder = RingBuilder(2, 1, 0)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port),
                     "replication_ip": "127.0.0.1", "replication_port": int(port),
                     "device": "disk", "weight": 1.0, "meta": ""})
    builder.rebalance()
    builder.get_ring().save(f"{sys.argv[1]}/{name}.ring.gz")
"""

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = tribunal
swift_hash_path_prefix = tribunal
[storage-policy:0]
name = only
default = yes
"""

BACK_CONF = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {dir}
devices = {folder}/data
mount_check = false
workers = 0
log_address = {dir}/no-syslog
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
fallocate_reserve = 0
"""

PROXY_CONF = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {dir}
workers = 0
log_address = {dir}/no-syslog
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth copy slo dlo proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{account} = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
"""


class Swift:
    """How S3 of s3.py prepares and runs Swift; `server` is that S3."""

    def __init__(self, server):
        self.server = server
        self.ports = {}

    @classmethod
    def find(cls):
        for tool in ("swift-proxy-server", "swift-account-server", "swift-container-server",
                     "swift-object-server", "memcached"):
            found = find_program(tool, fix=FIX)
        return found

    @classmethod
    def version(cls):
        cls.find()
        for folder in os.listdir("/usr/lib/python3/dist-packages"):
            if folder.startswith("swift-") and folder.endswith(".egg-info"):
                return folder.removeprefix("swift-").removesuffix(".egg-info")
        return "?"

    def prepare(self):
        """Check that the disk can carry Swift's metadata."""
        try:
            os.setxattr(f"{self.server.folder}/data", "user.tribunal", b"1")
        except OSError as err:
            raise Unavailable(f"Swift needs user xattrs in {self.server.folder}: {err.strerror}",
                              "set TMPDIR to a folder on ext4 or xfs") from None

    def take_ports(self):
        self.ports = {name: free_port() for name in ("account", "container", "object", "memcached")}

    def companions(self):
        self._write_files()
        user = ["-u", user_name()] if os.geteuid() == 0 else []
        memcached = [find_program("memcached", fix=FIX), "-l", "127.0.0.1", "-p",
                     str(self.ports["memcached"]), "-U", "0", "-m", "16", *user]
        return [memcached, *(self._program(name) for name in ("account", "container", "object"))]

    def command(self):
        return self._program("proxy")

    def _program(self, name):
        return [PYTHON, "-c", RUN, self._dir(), find_program(f"swift-{name}-server", fix=FIX),
                f"{self._dir()}/{name}.conf", "verbose"]

    def _dir(self):
        return f"{self.server.folder}/etc"

    def _write_files(self):
        server = self.server
        os.makedirs(f"{server.folder}/data/disk", exist_ok=True)
        os.makedirs(self._dir(), exist_ok=True)
        common = {"dir": self._dir(), "folder": server.folder, "user": user_name()}
        files = {"swift": SWIFT_CONF, "proxy": PROXY_CONF.format(
            port=server.port, memcached=self.ports["memcached"],
            account=server.key.partition(":")[0], secret=server.secret, **common)}
        for name in ("account", "container", "object"):
            files[name] = BACK_CONF.format(name=name, port=self.ports[name], **common)
        for name, text in files.items():
            with open(f"{self._dir()}/{name}.conf", "w", encoding="ascii") as out:
                out.write(text)
        server.run(PYTHON, "-c", RINGS, self._dir(),
                   *(f"{name}:{self.ports[name]}" for name in ("account", "container", "object")))


def user_name():
    return pwd.getpwuid(os.geteuid()).pw_name
