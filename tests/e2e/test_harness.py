"""What the harness promises to every other test: real servers, and nothing left of them.

TRIBUNAL_SOAK=1 asks for ten rounds of everything up and down instead of two.
"""

import functools
import glob
import http.server
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading

import pytest

import harness
from harness import proc, wait_until

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATABASES = ["postgres", "mariadb", "mysql"]
ROUNDS = 10 if os.environ.get("TRIBUNAL_SOAK") == "1" else 2


# Every server answers.


@pytest.mark.parametrize("name", DATABASES)
def test_database_answers_a_query(name, request):
    server = request.getfixturevalue(name)
    assert server.sql("SELECT 6 * 7") == "42"


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_url_of_a_mysql_server_is_a_login_by_password(name, request):
    server = request.getfixturevalue(name)
    query = "SELECT @@character_set_database, DATABASE()"
    assert server.ask(query, server.url) == "utf8mb4\ttribunal"
    with pytest.raises(RuntimeError, match="Access denied"):
        server.ask("SELECT 1", server.url.replace("tribunal-test", "wrong"))


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_mysql_server_keeps_unicode_and_flushes_every_commit(name, request, fresh_db):
    server = request.getfixturevalue(name)
    url = fresh_db(server)
    server.ask("CREATE TABLE t (x VARCHAR(10)); INSERT INTO t VALUES ('判\U0001f600')", url)
    assert server.ask("SELECT HEX(x), engine FROM t, information_schema.tables "
                      "WHERE table_schema = DATABASE()", url) == "E588A4F09F9880\tInnoDB"
    assert server.sql("SELECT @@innodb_flush_log_at_trx_commit") == "1"


def test_mysql_is_mysql_and_mariadb_is_mariadb(mysql, mariadb):
    assert "MariaDB" not in mysql.sql("SELECT VERSION()")
    assert "MariaDB" in mariadb.sql("SELECT VERSION()")


def test_postgres_is_durable_unless_told_otherwise(postgres):
    assert postgres.sql("SHOW fsync") == "on"
    assert postgres.sql("SHOW server_encoding") == "UTF8"


@pytest.mark.parametrize("name", DATABASES)
def test_new_database_is_empty_and_dropped_afterwards(name, request):
    server = request.getfixturevalue(name)
    with server.new_database() as url:
        database = url.rpartition("/")[2]
        tables = ("SELECT count(*) FROM information_schema.tables WHERE table_schema = "
                  + ("'public'" if name == "postgres" else f"'{database}'"))
        assert server.sql(tables, database=database) == "0"
        server.sql("CREATE TABLE t (x INT)", database=database)
        assert server.sql(tables, database=database) == "1"
    with pytest.raises(RuntimeError, match="does not exist|Unknown database"):
        server.sql("SELECT 1", database=database)


def test_nats_takes_a_stream_and_a_message(nats):
    with nats.client() as client:
        made = client.request("$JS.API.STREAM.CREATE.HARNESS",
                              {"name": "HARNESS", "subjects": ["harness.*"]})
        assert made["config"]["name"] == "HARNESS"
        assert client.request("harness.one", b"hello")["seq"] == 1
        assert client.request("$JS.API.STREAM.DELETE.HARNESS")["success"]


def test_redis_keeps_a_value(redis):
    assert redis.ask("SET", "harness", "here") == "+OK"
    assert redis.ask("GET", "harness") == "here"


def test_s3_keeps_an_object(s3):
    bucket = s3.make_bucket()
    assert s3.request("PUT", f"/{bucket}/a folder/x.bin", b"\0\1\2")[0] == 200
    assert s3.request("GET", f"/{bucket}/a folder/x.bin")[::2] == (200, b"\0\1\2")


def test_s3_refuses_a_wrong_secret(s3):
    bucket = s3.make_bucket()
    status, _, body = s3.request("PUT", f"/{bucket}/x", b"x", secret="not-the-secret")
    assert (status, b"SignatureDoesNotMatch" in body) == (403, True)
    assert s3.request("GET", f"/{bucket}/x")[0] == 404


def test_chromium_shows_a_page_and_clicks(chromium, tmp_path):
    (tmp_path / "index.html").write_text(
        "<title>harness</title><button onclick=\"this.textContent = 'pushed'\">push</button>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        with chromium.browser() as browser:
            browser.open(f"http://127.0.0.1:{site.server_port}/")
            assert browser.title == "harness"
            browser.find("button").click()
            assert browser.find("button").text == "pushed"
            png = browser.screenshot()
        site.shutdown()
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width >= 800 and height >= 600


# Death and return.


@pytest.mark.parametrize("name", ["nats", "redis", "s3"])
def test_killed_server_returns_on_its_port(name, own_server):
    server = own_server(name)
    port, pid = server.port, server.pid
    server.kill9()
    assert not os.path.exists(f"/proc/{pid}")
    assert proc.port_is_free(port)
    server.restart()
    assert (server.port, server.ready()) == (port, True)


@pytest.mark.parametrize("name", DATABASES)
def test_killed_database_keeps_what_was_committed(name, own_server):
    server = own_server(name)
    server.sql("CREATE TABLE t (x INT); INSERT INTO t VALUES (7)", database="tribunal")
    server.kill9()
    server.restart()
    assert server.sql("SELECT x FROM t", database="tribunal") == "7"


def test_nats_cluster_has_another_leader_after_kill9(nats_cluster):
    made = nats_cluster.ask("$JS.API.STREAM.CREATE.R3",
                            {"name": "R3", "subjects": ["r3"], "num_replicas": 3})
    assert made["config"]["num_replicas"] == 3
    assert nats_cluster.publish("r3", b"kept")["seq"] == 1
    first = nats_cluster.leader()
    first.kill9()
    assert nats_cluster.leader() is not first
    assert nats_cluster.stream_leader("R3") is not first
    assert nats_cluster.publish("r3", b"kept too")["seq"] == 2
    first.restart()
    nats_cluster.wait_for_peers(3)


def test_server_that_cannot_start_says_why():
    server = harness.Redis()
    server.command = lambda: [harness.Redis.find(), "--port", "nonsense"]
    with pytest.raises(AssertionError, match="(?s)it ended with 1.*nonsense"):
        server.start()


def test_stranger_on_the_port_is_not_taken_for_the_server(redis, own_server, monkeypatch):
    ports = [redis.port, proc.free_port()]
    monkeypatch.setattr(proc, "free_port", lambda: ports.pop(0))
    assert own_server("redis").port != redis.port


# Nothing left.


def test_everything_up_and_down_leaves_nothing():
    names = available()
    for _ in range(ROUNDS):
        done = up(*names, "--", sys.executable, "-c", PRINT_ENVIRONMENT)
        assert done.returncode == 5, done.stderr
        seen = json.loads(done.stdout)
        assert len(ports_in(seen)) >= len(names)
        assert leftovers(seen[proc.MARK], ports_in(seen)) == []


def test_nothing_listens_beyond_loopback(request):
    names = available()
    for name in names:
        request.getfixturevalue(name)
    listening = listeners_of(processes_of(proc.RUN_ID))
    assert len(listening) >= len(names)
    assert [address for address in listening if address not in LOOPBACK] == []


@pytest.mark.parametrize("moment", ["while preparing", "while serving"])
def test_nothing_is_left_5_seconds_after_kill9_of_the_tests(moment):
    user = subprocess.Popen([sys.executable, "-c", USE_SERVERS], cwd=TESTS, text=True,
                            stdout=subprocess.PIPE)
    try:
        run = user.stdout.readline().strip()
        if moment == "while preparing":
            wait_until(lambda: len(processes_of(run)) >= 3, 20, "servers to be under way")
            ports = set()
        else:
            ports = set(json.loads(user.stdout.readline()))
            assert processes_of(run)
    finally:
        user.kill()
        user.wait()
        user.stdout.close()
    wait_until(lambda: leftovers(run, ports) == [], 5, "the killed process's servers to be gone")


def test_killed_postgres_leaves_no_shared_memory(own_server):
    server = own_server("postgres")
    segment = read(f"{server.folder}/data/postmaster.pid").decode().splitlines()[6].split()[1]
    assert segment in shared_memory()
    server.kill9()
    server.stop()
    assert segment not in shared_memory()


# The command.


def test_up_gives_the_exit_code_of_its_command():
    assert up("redis", "--", "sh", "-c", "exit 7").returncode == 7
    assert up("redis", "--", "sh", "-c", "kill -9 $$").returncode == 137
    assert up("redis", "--", "no-such-command").returncode == 127


def test_check_names_every_server():
    done = subprocess.run([*HARNESS, "check", "--json"], capture_output=True, text=True,
                          check=False, cwd=TESTS, timeout=60)
    rows = {row["server"]: row for row in json.loads(done.stdout)}
    assert set(rows) == set(harness.SERVERS)
    assert all(row["version"] if row["available"] else row["fix"] for row in rows.values())


@pytest.mark.parametrize("must, code, word", [("0", 77, "SKIPPED"), ("1", 1, "FAILED")])
def test_missing_server_is_said_loudly(must, code, word, tmp_path):
    done = up("mysql", "--", "true", TRIBUNAL_MUST_WORK=must, TRIBUNAL_CACHE=str(tmp_path))
    if done.returncode == 0:
        pytest.skip("this system has a MySQL server of its own: it cannot be hidden")
    assert (done.returncode, word in done.stderr) == (code, True)
    assert "dev/servers/mysql" in done.stderr


# Helpers.

HARNESS = [sys.executable, "-m", "harness"]
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}  # as /proc/net/tcp and tcp6 write them

PRINT_ENVIRONMENT = """
import json, os, sys
print(json.dumps({k: v for k, v in os.environ.items() if k.startswith("TRIBUNAL_")}))
sys.exit(5)
"""

# Uses the harness as a test run would, and waits to be killed in the middle of it: with a browser
# open, and with a backend of PostgreSQL that computes and so does not notice that its server died.
USE_SERVERS = """
import json, signal, threading
from harness import SERVERS, Unavailable, proc
print(proc.RUN_ID, flush=True)
servers = []
for name in ("postgres", "mariadb", "nats", "redis", "chromium"):
    try:
        servers.append(SERVERS[name]().start())
    except Unavailable:
        continue
    if name == "postgres":
        for work in ("SELECT pg_sleep(60)", "SELECT count(*) FROM generate_series(1, 1e11)"):
            threading.Thread(target=servers[0].sql, args=(work,), daemon=True).start()
    if name == "chromium":
        window = servers[-1].browser()
        window.__enter__()
print(json.dumps([server.port for server in servers]), flush=True)
signal.pause()
"""


def available():
    """The servers that this machine has; all of them, where they must work."""
    names = []
    for name, cls in harness.SERVERS.items():
        try:
            cls.find()
            names.append(name)
        except harness.Unavailable:
            assert os.environ.get("TRIBUNAL_MUST_WORK") != "1", f"{name} must work here"
    return names


def up(*words, **env):
    return subprocess.run([*HARNESS, "up", *words], capture_output=True, text=True, check=False,
                          cwd=TESTS, env={**os.environ, **env}, timeout=180)


def ports_in(environment):
    """The ports in the URLs that `up` gave to its command."""
    return {int(port) for value in environment.values()
            for port in re.findall(r"127\.0\.0\.1:(\d+)", value)}


def leftovers(run, ports):
    """Sentences about what is left of a run: processes, listening ports, the folder."""
    found = [f"process {pid}: {command_of(pid)}" for pid in processes_of(run)]
    found += [f"port {port}" for port in ports if somebody_listens(port)]
    return found + glob.glob(f"{folder_of(run)}*")


def folder_of(run):
    return proc.run_root().replace(proc.RUN_ID[:12], run[:12])


def processes_of(run):
    """The pids of a run: those with its mark in their environment, or its folder in their command
    line or as their place. PostgreSQL's backends overwrite their environment and keep the place."""
    mark, folder = f"{proc.MARK}={run}".encode(), folder_of(run)
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (mark in read(f"/proc/{name}/environ")
                    or folder.encode() in read(f"/proc/{name}/cmdline")
                    or os.readlink(f"/proc/{name}/cwd").startswith(folder)):
                pids.append(int(name))
        except OSError:
            continue  # gone meanwhile, or somebody else's
    return pids


def read(path):
    with open(path, "rb") as file:
        return file.read()


def command_of(pid):
    try:
        return read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "(gone)"


def somebody_listens(port):
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listeners_of(pids):
    """The addresses, in hexadecimal, on which these processes listen for TCP."""
    inodes = set()
    for pid in pids:
        for link in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                inodes.add(os.readlink(link))
            except OSError:
                continue
    addresses = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in read(table).decode().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:  # 0A: LISTEN
                addresses.append(words[1].partition(":")[0])
    return addresses


def shared_memory():
    """The ids of the machine's System V segments."""
    return {line.split()[1] for line in read("/proc/sysvipc/shm").decode().splitlines()[1:]}
