"""Test data on its way to a judge: once over the wire, then from its disk or a neighbour's Redis."""

import pytest

from controller.farm import Farm
from controller.test_chaos import real_task
from e2e.certificates import make_certificates
from harness import wait_until


@pytest.fixture
def farm():
    with Farm() as one:
        yield one


def judged(farm, number, judge_id, looks=1):
    """Submit one and wait for its end; the judge's cache numbers once it has looked so often."""
    task, verdict = real_task(number)
    farm.submit(task)
    done = wait_until(lambda: (row := farm.get(f"/api/v1/submissions/{task['submit_id']}"))
                      ["status"] == "FINISHED" and row, 60, "a verdict")
    assert (done["verdict"], done["worker_id"]) == (verdict, judge_id)

    def counted():
        judge = next(j for j in farm.get("/api/v1/judges")["judges"] if j["judge_id"] == judge_id)
        cache = judge.get("cache") or {}
        return cache.get("hits", 0) + cache.get("misses", 0) == looks and cache
    cache = wait_until(counted, 10, "a heartbeat with the cache's numbers")
    return cache["hits"], cache["misses"], cache["redis_hits"]


def cache_of(farm, name):
    farm.environment = dict(farm.environment, XDG_CACHE_HOME=str(farm.folder / f"cache-{name}"))


def test_an_archive_crosses_the_wire_once(farm):
    farm.controller()
    cache_of(farm, "a")
    judge = farm.real_judge("a")
    assert judged(farm, 1, "a") == (0, 1, 0)
    assert judged(farm, 2, "a", looks=2) == (1, 1, 0)
    assert judge.stop() == 0
    judge.start()  # it is still there
    assert judged(farm, 4, "a") == (1, 0, 0)


def test_a_neighbour_takes_it_from_redis(farm, redis):
    farm.controller()
    for name, hits in (("a", 0), ("b", 1)):
        cache_of(farm, name)
        judge = farm.real_judge(name, more=["--data-redis", redis.url])
        assert judged(farm, 10 + hits, name) == (0, 1, hits)
        assert judge.stop() == 0


def test_a_redis_that_is_gone_is_no_reason_to_wait(farm):
    farm.controller()
    cache_of(farm, "a")
    farm.real_judge("a", more=["--data-redis", "redis://127.0.0.1:1"])
    assert judged(farm, 20, "a") == (0, 1, 0)


def test_over_tls_a_judge_trusts_its_own_ca_and_no_other(farm):
    farm.tls = make_certificates(farm.folder)
    farm.controller()
    cache_of(farm, "a")
    stranger = farm.real_judge("stranger", more=["--http-ca", farm.tls / "other.pem"])
    wait_until(lambda: "no connection to wss://" in stranger.tail(), 20, "a refusal")
    farm.real_judge("a", more=["--http-ca", farm.tls / "ca.pem"])
    assert judged(farm, 1, "a") == (0, 1, 0)
    assert [j["judge_id"] for j in farm.get("/api/v1/judges")["judges"]] == ["a"]
