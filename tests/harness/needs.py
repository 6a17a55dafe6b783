"""What a test cannot do without: its absence skips the test, and fails it where everything must work."""

import os

import pytest


def missing(what):
    """End the test: `what` says what cannot be had here and why."""
    if os.environ.get("TRIBUNAL_MUST_WORK") == "1":
        pytest.fail(f"must work here (TRIBUNAL_MUST_WORK=1): {what}", pytrace=False)
    pytest.skip(f"CANNOT RUN HERE: {what}")
