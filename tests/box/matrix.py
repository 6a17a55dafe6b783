"""matrix.py - which modes and rows are run here, and what is said about the others."""

import os
import pathlib

import pytest

import boxtool
import rows

HERE = pathlib.Path(__file__).resolve().parent
MUST_WORK = os.environ.get("TRIBUNAL_MUST_WORK") == "1"
LONG = "TRIBUNAL_SOAK" in os.environ or "TRIBUNAL_BOX_MODES" in os.environ
FEW = os.environ.get("TRIBUNAL_FEW") == "1"
SHORT = "not in the short run: TRIBUNAL_SOAK=1 or TRIBUNAL_BOX_MODES has it"
skipped_rows = {}  # (mode, reason) -> [row id]


# What one call of `make test` has time for: all as root and as a plain user, and in the other modes the
# rows that could end differently there. Root without a cgroup shares its driver with the plain user.
SHORT_MODULES = {
    "test_rules": ("root", "plain", "v2"),
    "test_input": ("root", "plain"),
    "test_compile": ("root",),
    "test_urgent": ("root",),
}
SHORT_ROWS = {"userns": rows.DRIVER, "v1": rows.DRIVER, "none": rows.FEW}


def rows_of_mode(mode):
    if FEW:
        return rows.FEW
    everything = {r.id for r in rows.ROWS}
    return everything if LONG else SHORT_ROWS.get(mode.name, everything)


def cannot(reason):
    (pytest.fail if MUST_WORK else pytest.skip)(reason)


def why_mode_is_missing(mode):
    root = os.geteuid() == 0
    if not root and mode.name != "plain":
        return "needs root"
    if mode.name == "v2" and not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "this host is not pure cgroup v2: tests/box/run-in-uml starts one"
    if mode.name == "v1" and not os.path.isdir("/sys/fs/cgroup/unified"):
        return "this host has no hybrid layout to hide the unified part of"
    if mode.cgroup == "hybrid" and not os.path.isdir("/sys/fs/cgroup/unified"):
        return "this host is not hybrid"
    return None


def chosen_modes():
    named = os.environ.get("TRIBUNAL_BOX_MODES")
    if named:
        return [boxtool.MODES[n] for n in named.split(",")]
    return [m for m in boxtool.MODES.values() if not why_mode_is_missing(m)]
