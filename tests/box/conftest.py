"""conftest.py - the tool, the attacker and the folders of the attack tests.

    TRIBUNAL_BOX=path        the tool under test
    TRIBUNAL_ATTACKER=path   the attacker (meson builds it); without it, cc does
    TRIBUNAL_BIGARRAY=path   its companion with the large array
    TRIBUNAL_SLOT=path       the driver of several runs; without it, cc links the library beside the tool
    TRIBUNAL_BOX_MODES=a,b   ways to start the tool (boxtool.MODES); default: those this host can do
    TRIBUNAL_SOAK=1          every row three times in a row, in every mode
    TRIBUNAL_FEW=1           only the rows that show that a mode works at all
    TRIBUNAL_MUST_WORK=1     a missing tool or mode is a failure and not a skip
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import boxtool  # noqa: E402
import rows  # noqa: E402
import uml  # noqa: E402
from matrix import (  # noqa: E402
    FEW, LONG, SHORT, SHORT_MODULES, cannot, chosen_modes, skipped_rows, why_mode_is_missing)


def pytest_generate_tests(metafunc):
    if "mode" in metafunc.fixturenames:
        metafunc.parametrize("mode", chosen_modes(), ids=lambda m: m.name, scope="session")
    if "round" in metafunc.fixturenames:
        metafunc.parametrize("round", range(3 if os.environ.get("TRIBUNAL_SOAK") == "1" else 1))


def pytest_terminal_summary(terminalreporter):
    tr = terminalreporter
    tr.section("rows that were not run, and why")
    for (mode, reason), ids in sorted(skipped_rows.items()):
        tr.write_line(f"{mode:8} {reason}")
        for i in sorted(set(ids)):
            tr.write_line(f"{'':12} {i}")
    tr.write_line("with the judge (they need more than the box):")
    for no, promise in rows.WITH_THE_JUDGE.items():
        tr.write_line(f"{'':12} {no} {promise}")
    for mode in boxtool.MODES.values():
        if mode not in chosen_modes():
            tr.write_line(f"{mode.name:8} whole mode: {why_mode_is_missing(mode) or 'not chosen'}")


def build(folder, name, sources):
    out = folder / name
    subprocess.run(
        ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", out]
        + [str(HERE / s) for s in sources],
        check=True,
    )
    return out


class Shop:
    """Folders and programs of one test session; readable for a plain user too."""

    def __init__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="tribunal-attack-"))
        self.top.chmod(0o755)
        self.programs = {
            "attacker": self._program("TRIBUNAL_ATTACKER", "attacker", sorted(
                p.name for p in HERE.glob("attack*.c"))),
            "bigarray": self._program("TRIBUNAL_BIGARRAY", "bigarray", ["bigarray.c"]),
        }
        boxtool.slot_program = self._slot()
        self.secret = self.top / "answer.txt"
        self.secret.write_text("SECRET-ANSWER\n")
        self.secret.chmod(0o644)

    def _program(self, variable, name, sources):
        given = os.environ.get(variable)
        path = self.top / name
        if given:
            shutil.copyfile(given, path)
        else:
            build(self.top, name, sources)
        path.chmod(0o755)
        return path

    def _slot(self):
        path, given = self.top / "slot", os.environ.get("TRIBUNAL_SLOT")
        if given:
            shutil.copyfile(given, path)
        else:
            beside = pathlib.Path(boxtool.tool_path()).resolve().parent.parent
            library = beside / "box" / "libtribunal-box.a"
            source = pathlib.Path(os.environ.get("TRIBUNAL_SOURCE", HERE.parent.parent))
            subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{source / 'include'}", "-o", path,
                            HERE / "slot.c", library], check=True)
        path.chmod(0o755)
        return path

    def folder(self, uid):
        """A fresh private folder that the tool's user owns."""
        path = pathlib.Path(tempfile.mkdtemp(prefix="slot-", dir=self.top))
        path.chmod(0o755)
        if uid is not None:
            os.chown(path, uid, uid)
        return path


@pytest.fixture(scope="session")
def shop():
    if not boxtool.tool_path():
        cannot("no tribunal-box: set TRIBUNAL_BOX")
    boxtool.adopt_orphans()
    boxtool.have_own_mounts()
    shop = Shop()
    yield shop
    shutil.rmtree(shop.top, ignore_errors=True)


@pytest.fixture(scope="session")
def v2_machine(request, shop):
    """None when there is none, or nobody here will ask it."""
    asked = any(i.module.__name__ == "test_uml" and not i.get_closest_marker("skipif").args[0]
                for i in request.session.items)
    machine = uml.Machine(shop) if asked and not uml.why_missing() else None
    yield machine
    if machine:
        machine.close()


@pytest.fixture
def slot_folder(request, shop, mode, skip_row):
    module = request.module.__name__
    if (FEW or not LONG) and mode.name not in SHORT_MODULES.get(module, (mode.name,)):
        skip_row(mode, module, SHORT)
    why = why_mode_is_missing(mode)
    if why:
        cannot(f"{mode.name}: {why}")
    folder = shop.folder(mode.uid)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def skip_row(request):
    def skip(mode, row_id, reason):
        skipped_rows.setdefault((mode.name, reason), []).append(row_id)
        pytest.skip(reason)

    return skip
