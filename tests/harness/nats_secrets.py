"""NATS servers with a configuration of their own: who may come in, and with what."""

import base64
import binascii
import json
import os
import pathlib
import subprocess
import time

from .nats import Nats
from .proc import find_program


class ConfiguredNats(Nats):
    """A server with a configuration file; JetStream only when the file says so."""

    def __init__(self, text, secrets=None):
        super().__init__()
        self.text, self.secrets = text, secrets or {}

    def prepare(self):
        for name, content in self.secrets.items():
            pathlib.Path(self.folder, name).write_bytes(content)
        text = self.text.replace("FOLDER", self.folder)
        pathlib.Path(self.folder, "nats.conf").write_text(text)

    def command(self):
        return [self.find(), "--addr", "127.0.0.1", "--port", str(self.port), "--http_port",
                str(self.monitor_port), "--config", f"{self.folder}/nats.conf"]

    def ready(self):
        return self.monitor("/varz")["port"] == self.port


JETSTREAM = "jetstream { store_dir: \"FOLDER/data\" }\n"

SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
PUBLIC = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

TLS = JETSTREAM + """tls { cert_file: "FOLDER/server.pem", key_file: "FOLDER/server.key",
    ca_file: "FOLDER/ca.pem", verify: true }
"""


def tls_secrets(folder):
    """The server's part of the certificates in `folder`."""
    return {name: (folder / name).read_bytes() for name in ("server.pem", "server.key", "ca.pem")}


class Identity:
    """An nkey of one kind, with its JWT signed by another."""

    def __init__(self, folder, kind):
        self.kind, self.prefix = kind, {"operator": 14, "account": 0, "user": 20}[kind] << 3
        self.key = folder / f"{kind}-{os.urandom(4).hex()}.pem"
        self.openssl("genpkey", "-algorithm", "ed25519", "-out", self.key)
        raw = self.openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")[-32:]
        self.public = self.encode(bytes([self.prefix]) + raw)

    @staticmethod
    def openssl(*words):
        program = find_program("openssl", fix="dev/setup test")
        return subprocess.run([program, *words], check=True, capture_output=True).stdout

    @staticmethod
    def encode(raw):
        return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")

    @property
    def seed(self):
        raw = self.openssl("pkey", "-in", self.key, "-outform", "DER")[-32:]
        head = bytes([18 << 3 | self.prefix >> 5, (self.prefix & 31) << 3])
        return self.encode(head + raw)

    def jwt(self, signer, **claims):
        def pack(value):
            return base64.urlsafe_b64encode(value).rstrip(b"=")
        body = {"jti": os.urandom(8).hex(), "iat": int(time.time()), "iss": signer.public, "name": self.kind,
                "sub": self.public, "nats": {"type": self.kind, "version": 2, **claims}}
        text = pack(b'{"typ":"JWT","alg":"ed25519-nkey"}') + b"." + pack(json.dumps(body).encode())
        message = signer.key.with_suffix(".msg")
        message.write_bytes(text)
        signature = self.openssl("pkeyutl", "-sign", "-rawin", "-inkey", signer.key, "-in", message)
        return (text + b"." + pack(signature)).decode()


CREDS = """-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


def make_account(folder):
    """A configuration with one account; the path of a user's creds file, and of a stranger's."""
    operator, account, system, user, stranger = (
        Identity(folder, kind) for kind in ("operator", "account", "account", "user", "user"))
    limits = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1, "subs": -1, "data": -1,
              "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    text = JETSTREAM + f"""operator: "{operator.jwt(operator)}"
        system_account: {system.public}
        resolver: MEMORY
        resolver_preload {{ {account.public}: "{account.jwt(operator, limits=limits)}"
                           {system.public}: "{system.jwt(operator)}" }}"""
    paths = []
    for name, who, signer in (("ours", user, account), ("other", stranger, operator)):
        path = folder / f"{name}.creds"
        path.write_text(CREDS.format(jwt=who.jwt(signer, subs=-1, data=-1, payload=-1), seed=who.seed))
        paths.append(path)
    return text, *paths
