"""Objects over the wire: src/net against an S3 server that checks signatures, and a web server that
misbehaves on purpose. tests/drivers/net_driver.c is what runs."""

import contextlib
import hashlib
import http.server
import os
import pathlib
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

import harness
from certificates import make_certificates
from harness import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
DRIVER = BUILD / "tests/drivers/net_driver"
MIB = 1024 * 1024


def environment(server=None, **more):
    env = {"PATH": os.environ["PATH"], "BACKOFF_MS": "20", **{k: str(v) for k, v in more.items()}}
    if server is not None:
        env = {"S3_ENDPOINT": server.endpoint, "S3_KEY": server.key, "S3_SECRET": server.secret, **env}
    return env


def drive(server, *words, **env):
    return subprocess.run([DRIVER, *map(str, words)], capture_output=True, text=True, timeout=60,
                          env=environment(server, **env), stdin=subprocess.DEVNULL)


def good(result):
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def refused(result):
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.strip()


@pytest.fixture(scope="module")
def bucket(s3):
    return s3.make_bucket()


KEYS = ["plain", "submissions/42/case_1.stdout", "a+b=c d&e", "100%/50%25", "题目/测试.zip", "é~'()*!$,;:@[]",
        "deep/../dots/./x", "trailing/", "x" * 200]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_what_is_put_comes_back_under_any_key(s3, bucket, key, tmp_path):
    if "/../" in key and s3.kind == "minio":
        assert refused(drive(s3, "puts", bucket, key, "x")).startswith("fatal ")  # MinIO's own rule
        return
    body = f"body of {key}"
    good(drive(s3, "puts", bucket, key, body))
    out = tmp_path / "out"
    digest = hashlib.sha256(body.encode()).hexdigest()
    assert good(drive(s3, "get", bucket, key, out, digest)) == f"{len(body.encode())}\n"
    assert out.read_text() == body
    assert good(drive(s3, "head", bucket, key)).startswith(f"{len(body.encode())} ")
    assert f"{len(body.encode())} {key}\n" in good(drive(s3, "list", bucket, key[:6]))
    good(drive(s3, "delete", bucket, key))
    good(drive(s3, "delete", bucket, key))  # gone is gone
    assert refused(drive(s3, "head", bucket, key)).startswith("usage ")


def test_64_mib_go_there_and_back(s3, bucket, tmp_path):
    data = os.urandom(MIB) * 64
    (tmp_path / "in").write_bytes(data)
    good(drive(s3, "put", bucket, "big", tmp_path / "in"))
    assert good(drive(s3, "get", bucket, "big", tmp_path / "out",
                      hashlib.sha256(data).hexdigest())) == f"{64 * MIB}\n"
    assert (tmp_path / "out").read_bytes() == data
    good(drive(s3, "delete", bucket, "big"))


def test_an_empty_object_is_an_object(s3, bucket, tmp_path):
    good(drive(s3, "puts", bucket, "empty", ""))
    assert good(drive(s3, "get", bucket, "empty", tmp_path / "out")) == "0\n"
    assert (tmp_path / "out").read_bytes() == b""


def test_a_list_of_several_pages_is_whole(s3):
    name = s3.make_bucket()
    keys = [f"k {i:02}&<+>" for i in range(23)]
    for key in keys:
        assert s3.request("PUT", f"/{name}/{key}", b"x")[0] == 200
    lines = good(drive(s3, "list", name, "k", PAGE_KEYS=5)).splitlines()
    assert [line.removeprefix("1 ") for line in lines] == keys
    assert good(drive(s3, "list", name, "other")) == ""


def test_wrong_credentials_are_said_and_not_tried_again(s3, bucket):
    said = refused(drive(s3, "puts", bucket, "k", "x", S3_SECRET="wrong"))
    assert said.startswith("fatal ") and f"the secret key of S3 access key '{s3.key}' is wrong" in said
    said = refused(drive(s3, "puts", bucket, "k", "x", S3_KEY="nobody:nobody"))
    assert said.startswith("fatal ") and "nobody" in said


def test_missing_things_are_named(s3, bucket, tmp_path):
    assert "has no object 'none/such'" in refused(drive(s3, "get", bucket, "none/such", tmp_path / "o"))
    assert "has no bucket 'no-such-bucket'; create it" in \
        refused(drive(s3, "puts", "no-such-bucket", "k", "x"))


def test_a_presigned_address_works_without_credentials_and_not_when_changed(s3, bucket):
    good(drive(s3, "puts", bucket, "a b+c", "hello"))
    address = good(drive(s3, "presign", "GET", bucket, "a b+c", 60)).strip()
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert answer.read() == b"hello"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(address.replace("Expires=60", "Expires=6000"), timeout=10)
    caught.value.close()
    assert caught.value.code == 403


def test_minio_addresses_are_fetched_with_hash_and_ceiling(s3, bucket, tmp_path):
    good(drive(s3, "puts", bucket, "testdata/1.zip", "zip bytes"))
    url, out = f"minio://{bucket}/testdata/1.zip", tmp_path / "o"
    assert good(drive(s3, "fetch", url, out, 100, hashlib.sha256(b"zip bytes").hexdigest())) == "9\n"
    assert good(drive(s3, "fetch", f"s3://{bucket}/testdata/1.zip", out, 9)) == "9\n"
    said = refused(drive(s3, "fetch", url, out, 100, hashlib.sha256(b"other").hexdigest()))
    assert said.startswith(f"fatal {url}: the file has SHA-256 ")
    assert "more than the 8 allowed" in refused(drive(s3, "fetch", url, out, 8))
    assert "no S3 endpoint is configured" in refused(drive(None, "fetch", url, out, 8))


def test_a_server_that_dies_half_way_is_found_again(tmp_path):
    """Killed during an upload of 64 MiB and started again: the put and a get go through."""
    data = os.urandom(MIB) * 64
    (tmp_path / "in").write_bytes(data)
    with harness.S3() as server:
        bucket = server.make_bucket()
        putting = subprocess.Popen([DRIVER, "put", bucket, "big", tmp_path / "in"],
                                   env=environment(server, TRIES=50, BACKOFF_MS=100),
                                   stderr=subprocess.PIPE)
        sent = pathlib.Path(f"/proc/{putting.pid}/io")
        # Reading the file for its hash is 64 MiB; beyond that it is being sent.
        wait_until(lambda: int(sent.read_text().split("rchar: ")[1].split()[0]) > 66 * MIB, 20,
                   "the upload to begin", every=0.001)
        server.kill9()
        assert putting.poll() is None, "it was done before the server died"
        server.restart()
        assert (putting.wait(60), putting.stderr.read()) == (0, b"")
        putting.stderr.close()
        digest = hashlib.sha256(data).hexdigest()
        assert good(drive(server, "get", bucket, "big", tmp_path / "out", digest)) == f"{64 * MIB}\n"
        server.kill9()
        said = refused(drive(server, "puts", bucket, "k", "x", TRIES=2))
        assert said.startswith("retry ")


def test_addresses_that_nobody_answers_are_said(tmp_path):
    said = refused(drive(None, "fetch", "http://127.0.0.1:1/x", tmp_path / "o", 10, TRIES=1))
    assert said.startswith("retry http://127.0.0.1:1/x: ") and "onnect" in said


# A web server that misbehaves.

BODY = os.urandom(300_000)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Range")))
        getattr(self, "do" + self.path.split("?")[0].replace("/", "_"))()

    def answer(self, status, body, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def do_good(self):
        self.answer(200, BODY, ETag='"1"')

    def do_breaks(self):
        """Sends a third each time, from where it is asked to."""
        begin = self.headers.get("Range")
        start = int(begin.removeprefix("bytes=").rstrip("-")) if begin else 0
        part = BODY[start:start + 100_000]
        extra = {"Content_Range": f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"} if begin else {}
        self.answer(206 if begin else 200, part, len(BODY) - start, ETag='"1"', **extra)
        self.close_connection = True

    def do_changes(self):
        """Breaks once; by then the file is another one."""
        first = len(self.server.seen) == 1
        self.answer(200, BODY[::-1][:1000] if first else BODY, len(BODY), ETag='"1"' if first else '"2"')
        self.close_connection = True

    def do_forgets(self):
        """Breaks once and has no ETag."""
        first = len(self.server.seen) == 1
        self.answer(200, BODY[:1000] if first else BODY, len(BODY))
        self.close_connection = True

    def do_busy(self):
        if len(self.server.seen) < 3:
            self.answer(503, b"later")
        else:
            self.answer(200, BODY)

    def do_moved(self):
        self.answer(302, b"", Location="/good")

    def do_elsewhere(self):
        self.answer(302, b"", Location="file:///etc/passwd")

    def do_circle(self):
        self.answer(302, b"", Location="/circle")

    def do_endless(self):
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(BODY)

    def do_missing(self):
        self.answer(404, b"x" * 5000)

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("path, ranges", [
    ("/good", [None]),
    ("/good?signature=secret", [None]),
    ("/breaks", [None, "bytes=100000-", "bytes=200000-"]),
    ("/changes", [None, "bytes=1000-"]),
    ("/forgets", [None, None]),
    ("/busy", [None, None, None]),
])
def test_a_broken_transfer_goes_on_where_it_can(web, path, ranges, tmp_path):
    url = f"http://127.0.0.1:{web.server_port}{path}"
    digest = hashlib.sha256(BODY).hexdigest()
    assert good(drive(None, "fetch", url, tmp_path / "o", 1_000_000, digest)) == f"{len(BODY)}\n"
    assert (tmp_path / "o").read_bytes() == BODY
    assert [seen[1] for seen in web.seen] == ranges


@pytest.mark.parametrize("path, starts, says", [
    ("/missing", "usage", "there is no such file (HTTP 404)"),
    ("/elsewhere", "fatal", "file"),
    ("/circle", "fatal", "redirects"),
    ("/endless", "usage", "more than the 1000000 bytes allowed"),
    ("/good?sig=secret", "fatal", "has SHA-256"),
])
def test_what_a_web_server_may_not_do(web, path, starts, says, tmp_path):
    url = f"http://127.0.0.1:{web.server_port}{path}"
    said = refused(drive(None, "fetch", url, tmp_path / "o", 1_000_000, "0" * 64))
    assert said.startswith(f"{starts} {url.split('?')[0]}: ") and says in said and "sig=" not in said


def test_a_redirect_is_followed(web, tmp_path):
    url = f"http://127.0.0.1:{web.server_port}/moved"
    assert good(drive(None, "fetch", url, tmp_path / "o", 1_000_000)) == f"{len(BODY)}\n"


def test_https_trusts_only_what_it_is_told(web, tmp_path):
    folder = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    web.socket = context.wrap_socket(web.socket, server_side=True)
    words = ["fetch", f"https://127.0.0.1:{web.server_port}/good", tmp_path / "o", 1_000_000]
    assert good(drive(None, *words, CA_FILE=folder / "ca.pem")) == f"{len(BODY)}\n"
    for trusted in ({"CA_FILE": folder / "other.pem"}, {}):
        said = refused(drive(None, *words, **trusted))
        assert said.startswith("fatal ") and "its certificate is not trusted" in said
    other_name = [words[0], words[1].replace("127.0.0.1", "localhost"), *words[2:]]
    assert "its certificate is not trusted" in refused(drive(None, *other_name, CA_FILE=folder / "ca.pem"))


def test_files_come_only_from_the_data_folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "1 2.zip").write_bytes(b"data")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "fifo")
    out = tmp_path / "out"

    def fetch(path, *more, file_dir=folder):
        env = {"FILE_DIR": file_dir} if file_dir else {}
        return drive(None, "fetch", f"file://{path}", out, 100, *more, **env)

    digest = hashlib.sha256(b"data").hexdigest()
    assert good(fetch(f"{folder}/1%202.zip", digest)) == "4\n"
    assert out.read_bytes() == b"data"
    assert good(fetch(f"{folder}//1%202.zip", file_dir=f"{folder}/")) == "4\n"
    assert "no data folder is set" in refused(fetch(f"{folder}/1%202.zip", file_dir=None))
    assert "is not below the data folder" in refused(fetch(f"{tmp_path}/secret"))
    assert "is not below the data folder" in refused(fetch(f"{folder}-other/x"))
    for name, says in [("../secret", "open"), ("link", "open"), ("fifo", "is a FIFO"), ("none", "No such file")]:
        assert says in refused(fetch(f"{folder}/{name}"))
    assert "has SHA-256" in refused(fetch(f"{folder}/1%202.zip", "0" * 64))
