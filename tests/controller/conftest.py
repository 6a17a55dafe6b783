"""One controller for tests that share, own ones for those that break it."""

import contextlib
import sys
import pathlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from judge import Judge  # noqa: E402
from tribunald import Tribunald  # noqa: E402


@pytest.fixture(scope="module")
def server():
    with Tribunald() as running:
        yield running


@pytest.fixture
def own():
    """A function that starts a controller of this test's own."""
    with contextlib.ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(Tribunald(*options, **more))


@pytest.fixture
def judges():
    """A function that connects a scripted judge and closes it at the end."""
    made = []

    def connect(server, judge_id="judge-1", **more):
        made.append(Judge(server, judge_id, **more))
        return made[-1]

    yield connect
    for judge in made:
        with contextlib.suppress(Exception):
            judge.close()
