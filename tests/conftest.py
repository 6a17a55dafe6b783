"""Shared servers: one of each kind for the whole session, because starting one costs seconds.

A test that needs an empty database takes `fresh_db(server)`. One that kills or restarts a server
takes `own_server(name)`, so that the others keep theirs. A server that cannot be had here skips the
test loudly, or fails it when TRIBUNAL_MUST_WORK=1.
"""

import contextlib
import signal

import pytest
from _pytest.runner import runtestprotocol

import harness
from harness.needs import missing

# Who runs us in the background (nohup, a shell's &) lets us ignore these, and so would every program
# that a test starts and then signals.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


def pytest_configure(config):
    config.addinivalue_line("markers", "measures: a number that a busy neighbour may spoil; it has "
                                       "two more tries")


def pytest_runtest_protocol(item, nextitem):
    """A test marked `measures` fails only when three tries in a row fail."""
    if not item.get_closest_marker("measures"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in (2, 1, 0):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if left == 0 or not any(r.failed for r in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def start_or_skip(name):
    """A started server of this kind, or the end of the test with the reason."""
    try:
        return harness.SERVERS[name]().start()
    except harness.Unavailable as err:
        missing(f"{name}: {err}")


def session_server(name):
    @pytest.fixture(scope="session", name=name)
    def serve():
        server = start_or_skip(name)
        yield server
        server.stop()

    return serve


postgres = session_server("postgres")
mariadb = session_server("mariadb")
mysql = session_server("mysql")
nats = session_server("nats")
nats_cluster = session_server("nats_cluster")
redis = session_server("redis")
s3 = session_server("s3")
chromium = session_server("chromium")


@pytest.fixture
def fresh_db():
    """A function that takes a database server and gives the URL of a new empty database,
    which is dropped when the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda server: stack.enter_context(server.new_database())


@pytest.fixture
def own_server():
    """A function that takes a server's name and starts one for this test alone."""
    with contextlib.ExitStack() as stack:
        yield lambda name: stack.enter_context(start_or_skip(name))
