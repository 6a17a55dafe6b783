"""An S3 server for tests: MinIO where it could be built, else OpenStack Swift with s3api.

`kind` says which of the two runs; only a run with MinIO proves MinIO. Both check signatures. A
server that accepts a wrong secret (s3rver is one) must never be used here.
"""

import contextlib
import itertools
import os
import signal

from . import s3client
from .proc import Server, Unavailable, cache_dir, find_program, free_port
from .swift import Swift

KEY, SECRET = "tribunal", "tribunal-test-secret"


class S3(Server):
    """Chooses its kind when it is made: S3() may be a Minio or a Swift one inside."""

    name = "s3"

    def __init__(self, kind=None):
        super().__init__()
        self.kind = kind or self.find()
        # tempauth names its users account:user
        self.key = f"{KEY}:{KEY}" if self.kind == "swift" else KEY
        self.secret = SECRET
        self._names = itertools.count(1)
        self._swift = Swift(self) if self.kind == "swift" else None
        if self._swift:
            self.end_signal = signal.SIGKILL  # with no worker processes its servers ignore TERM
        self._console_port = None

    @classmethod
    def find(cls):
        """The kind that this machine has: "minio" or "swift"."""
        with contextlib.suppress(Unavailable):
            return "minio" if minio_program() else None
        with contextlib.suppress(Unavailable):
            return "swift" if Swift.find() else None
        raise Unavailable("neither MinIO nor Swift is on this machine", "dev/setup test")

    @classmethod
    def version(cls):
        if cls.find() == "swift":
            return f"Swift {Swift.version()}"
        with contextlib.suppress(OSError):
            with open(os.path.join(cache_dir(), "minio", "version"), encoding="ascii") as line:
                return f"MinIO {line.read().strip()}"
        return "MinIO"

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self):
        return self.endpoint

    def variables(self):
        return {"TRIBUNAL_TEST_S3": self.endpoint, "TRIBUNAL_TEST_S3_KEY": self.key,
                "TRIBUNAL_TEST_S3_SECRET": self.secret, "TRIBUNAL_TEST_S3_KIND": self.kind}

    def take_ports(self):
        super().take_ports()
        self._console_port = free_port()
        if self._swift:
            self._swift.take_ports()

    def prepare(self):
        os.mkdir(f"{self.folder}/data")
        if self._swift:
            self._swift.prepare()

    def companions(self):
        return self._swift.companions() if self._swift else []

    def command(self):
        if self._swift:
            return self._swift.command()
        return [minio_program(), "server", "--quiet", "--address", f"127.0.0.1:{self.port}",
                "--console-address", f"127.0.0.1:{self._console_port}", f"{self.folder}/data"]

    def variables_inside(self):
        return {"MINIO_ROOT_USER": self.key, "MINIO_ROOT_PASSWORD": self.secret,
                "MINIO_UPDATE": "off", "MINIO_BROWSER": "off", "HOME": self.folder}

    def ready(self):
        return self.request("GET", "/", timeout=3)[0] == 200

    def request(self, method, path, body=b"", *, secret=None, **more):
        """One signed request; returns (status, headers, body). See s3client.request()."""
        secret = secret or self.secret
        return s3client.request(self.endpoint, self.key, secret, method, path, body, **more)

    def make_bucket(self, name=None):
        """Make a bucket and return its name; without one, a new name is chosen."""
        name = name or f"bucket-{next(self._names)}"
        status, _, body = self.request("PUT", f"/{name}")
        if status != 200:
            raise s3client.S3Error(status, body)
        return name


def minio_program():
    return find_program("minio", fix="dev/servers/minio", also=[f"{cache_dir()}/minio/bin"])
