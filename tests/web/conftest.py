"""One controller with two judges and one browser for all pages' tests; own ones for those that break things."""

import contextlib
import pathlib
import sys

import pytest

import harness
from harness.needs import missing

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import webfarm as farms  # noqa: E402
from webpage import SHOTS, Page  # noqa: E402


def start(stack, server):
    try:
        return stack.enter_context(server)
    except harness.Unavailable as err:
        missing(err)


@pytest.fixture(scope="session")
def farm():
    """A controller with two real judges, shared: leave it as it was."""
    with contextlib.ExitStack() as stack:
        server = start(stack, farms.controller())
        server.judges = [start(stack, farms.Judge(server, f"judge-{n}", 2)) for n in (1, 2)]
        yield server


@pytest.fixture
def own():
    """own(*options) starts a controller for this test; own.judge(server, id) a judge of its."""
    with contextlib.ExitStack() as stack:
        def controller(*options, **more):
            return start(stack, farms.controller(*options, **more))

        controller.judge = lambda server, judge_id, **more: start(
            stack, farms.Judge(server, judge_id, **more))
        yield controller


@pytest.fixture(scope="session")
def window(chromium):
    with chromium.browser() as browser:
        yield browser


@pytest.fixture
def page(farm, window):
    """The pages of the shared farm, as admin."""
    window.console()
    return Page(window, farm)


@pytest.fixture
def look(window):
    """look(server, role): the pages of another controller."""
    window.console()
    return lambda server, role="admin": Page(window, server, role)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test leaves a picture of what the browser showed, and what it complained about."""
    outcome = yield
    browser = item.funcargs.get("window")
    if call.when == "call" and outcome.get_result().failed and browser is not None:
        with contextlib.suppress(Exception):
            SHOTS.mkdir(parents=True, exist_ok=True)
            browser.screenshot(SHOTS / f"failed-{item.name}.png")
            print("address:", browser.address, "console:", *browser.console(), sep="\n  ")
