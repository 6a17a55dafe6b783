"""The port over TLS, seen by clients that are not ours: curl, Python's ssl and websockets."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import types

import pytest

from controller.farm import TRIBUNAL, TRIBUNALD, Farm
from e2e.certificates import make_certificates
from harness import wait_until
from judge import Judge


@pytest.fixture(scope="module")
def farm():
    with Farm() as one:
        one.tls = one.folder / "certificates"
        one.tls.mkdir()
        make_certificates(one.tls)
        one.process = one.controller()
        yield one


def curl(farm, path, *more, ca="ca.pem"):
    return subprocess.run(["curl", "-sS", "--max-time", "20", "--cacert", farm.tls / ca, *more,
                           f"https://127.0.0.1:{farm.ports[0]}{path}"], capture_output=True, text=True)


def trust(farm):
    return ssl.create_default_context(cafile=farm.tls / "ca.pem")


def test_rest_and_a_judge_over_tls(farm):
    server = types.SimpleNamespace(port=farm.ports[0], keys={"judge": farm.judge_key()})
    judge = Judge(server, "tls", trust=trust(farm)).ready()
    body = {"submit_id": "s1", "problem": "a-plus-b", "language": "cpp17", "code": "int main(){}"}
    made = curl(farm, "/api/v1/submissions", "-d", json.dumps(body))
    assert json.loads(made.stdout)["submit_id"] == "s1", made.stderr
    assert judge.settle(judge.task()) == "finished"
    judge.close()
    assert json.loads(curl(farm, "/api/v1/submissions/s1").stdout)["verdict"] == "AC"


def test_events_over_tls(farm):
    with socket.create_connection(("127.0.0.1", farm.ports[0]), 10) as plain, \
            trust(farm).wrap_socket(plain, server_hostname="127.0.0.1") as stream:
        stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        text = b""
        while b": hello" not in text:
            text += stream.recv(4096)
        assert b"text/event-stream" in text


def test_a_client_with_another_ca_is_told_so(farm):
    refused = curl(farm, "/healthz", ca="other.pem")
    assert refused.returncode == 60 and "certificate" in refused.stderr
    ours = subprocess.run([TRIBUNAL, "submit", "--server", f"https://127.0.0.1:{farm.ports[0]}",
                           "--problem", "a-plus-b", "--http-ca", farm.tls / "other.pem", __file__,
                           "--lang", "python3"], capture_output=True, text=True)
    assert ours.returncode == 3 and "certificate" in ours.stderr, ours.stderr


def test_plain_http_on_the_tls_port_is_no_harm(farm):
    plain = subprocess.run(["curl", "-sS", "--max-time", "20",
                            f"http://127.0.0.1:{farm.ports[0]}/healthz"], capture_output=True, text=True)
    assert plain.returncode != 0 and plain.stdout == ""
    for junk in (b"\x16\x03\x01\x00\xff" + b"x" * 200, b"\x00" * 1000, b""):
        with socket.create_connection(("127.0.0.1", farm.ports[0]), 10) as one:
            one.sendall(junk)
            assert curl(farm, "/healthz").returncode == 0
    assert curl(farm, "/healthz").returncode == 0


def serial(farm):
    text = ssl.get_server_certificate(("127.0.0.1", farm.ports[0]))
    return subprocess.run(["openssl", "x509", "-noout", "-serial"], input=text, text=True,
                          capture_output=True, check=True).stdout


def test_a_renewed_certificate_is_read_on_sighup_and_a_half_renewed_one_is_not(farm):
    before = serial(farm)
    renewed = farm.folder / "renewed"
    shutil.copytree(farm.tls, renewed)
    make_certificates(renewed)
    log = lambda: farm.process.log.read_text()  # noqa: E731
    shutil.copy(renewed / "server.pem", farm.tls / "server.pem")  # its key is still the old one
    os.kill(farm.process.popen.pid, signal.SIGHUP)
    wait_until(lambda: "the certificate stays the old one" in log(), 10, "a refusal in the log")
    assert serial(farm) == before
    shutil.copy(renewed / "server.key", farm.tls / "server.key")
    os.kill(farm.process.popen.pid, signal.SIGHUP)
    wait_until(lambda: "the certificate was read again" in log(), 10, "the new certificate")
    assert serial(farm) != before
    shutil.copy(renewed / "ca.pem", farm.tls / "ca.pem")
    assert curl(farm, "/healthz").returncode == 0


@pytest.mark.parametrize("label, cert, key, says", [
    ("no such file", "none.pem", "server.key", "none.pem"),
    ("a key as certificate", "server.key", "server.key", "no certificate in PEM"),
    ("a certificate as key", "server.pem", "server.pem", "no private key in PEM"),
    ("another's key", "server.pem", "client.key", "is not that of the certificate"),
])
def test_a_pair_that_does_not_fit_is_refused_at_the_start(farm, tmp_path, label, cert, key, says):
    done = subprocess.run([TRIBUNALD, "--listen", "127.0.0.1:1", "--data", tmp_path, "--tls-cert",
                           farm.tls / cert, "--tls-key", farm.tls / key], capture_output=True, text=True)
    assert done.returncode == 2 and says in done.stderr, done.stderr
