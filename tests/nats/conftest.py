"""tribunal-worker from the outside: tasks go in by NATS, verdicts come out of rows and events."""

import pytest

from farm import Farm


@pytest.fixture(scope="session")
def judge_cache(tmp_path_factory):
    """One cache of compiled programs for all tests: the code is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def farm(nats, tmp_path, judge_cache, request):
    """A function that makes a farm: on SQLite, or on the database of a URL."""
    made = []

    def make(db=None, server=None, env=None, **consumer):
        one = Farm(server or nats, db or f"sqlite:{tmp_path}/s.db", tmp_path, judge_cache, env)
        made.append(one)
        return one.provision(**consumer)
    yield make
    for one in made:
        one.close()
