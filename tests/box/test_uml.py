"""test_uml.py - the rows on pure cgroup v2, on a machine of their own (uml.py)."""

import os

import pytest

import uml
from matrix import cannot

pytestmark = pytest.mark.skipif(
    "TRIBUNAL_IN_UML" in os.environ or "TRIBUNAL_BOX_MODES" in os.environ, reason="a mode of its own")


def test_rows_hold_on_pure_v2(v2_machine):
    if not v2_machine:
        cannot(uml.why_missing())
    code, said = v2_machine.end()
    print(said[-6000:])
    assert code == 0, said[-6000:]
