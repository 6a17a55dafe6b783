"""How tribunald hands the pages out: compressed, once, and under a policy that lets nothing else in."""

import gzip

import pytest

from controller.tribunald import BUILD

DIST = BUILD / "web/dist"


def asset(pattern):
    [path] = DIST.glob(pattern)
    return path, "/" + str(path.relative_to(DIST))


@pytest.mark.parametrize("pattern", ["assets/app-*.js", "assets/app-*.css", "assets/editor-*.js", "index.html"])
def test_a_file_comes_compressed_and_only_once(farm, pattern):
    path, address = asset(pattern)
    first = farm.ask("GET", address, key=None, headers={"Accept-Encoding": "gzip"})
    assert (first.status, first.headers["Content-Encoding"]) == (200, "gzip")
    assert gzip.decompress(first.body) == path.read_bytes()
    again = farm.ask("GET", address, key=None, headers={"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    kept = "immutable" in first.headers["Cache-Control"]
    assert kept == address.startswith("/assets/")  # those have a hash in their names
    assert farm.ask("GET", address, key=None).body == path.read_bytes()


def test_policy_names_no_other_place_and_nothing_unsafe(farm):
    policy = farm.ask("GET", "/", key=None).headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["frame-ancestors"] == "'none'"
    assert {word for words in rules.values() for word in words.split()} <= {"'none'", "'self'", "data:"}
    assert "data:" not in rules["script-src"] + rules["style-src"] + rules["connect-src"]


def test_browser_runs_no_script_that_is_not_ours(page):
    page.open("/problems")
    page.script("const s = document.createElement('script'); s.textContent = 'window.foreign = 1'; document.body.append(s)")
    assert page.script("return window.foreign") is None
    assert any("Content Security Policy" in one for one in page.complaints())


@pytest.mark.parametrize("address", ["/problems/a.b", "/submissions/x.y.z", "/judges"])
def test_every_page_can_be_reloaded(farm, address):
    assert farm.ask("GET", address, key=None).body == (DIST / "index.html").read_bytes()


@pytest.mark.parametrize("address", ["/favicon.ico", "/assets/none.js", "/assets/none"])
def test_a_file_that_is_not_there_is_not_found(farm, address):
    assert farm.ask("GET", address, key=None).status == 404
