"""test_uml.py - the rows on pure cgroup v2, on a machine of their own: user-mode Linux.

One test here starts the machine and runs the others inside, with the short list or, for
TRIBUNAL_SOAK=1, the whole table.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import boxtool
from matrix import HERE, cannot

pytestmark = pytest.mark.skipif(
    "TRIBUNAL_IN_UML" in os.environ or "TRIBUNAL_BOX_MODES" in os.environ, reason="a mode of its own")


def test_rows_hold_on_pure_v2(shop):
    if not shutil.which("linux.uml"):
        cannot("needs the package user-mode-linux")
    if os.geteuid() != 0:
        cannot("needs root")
    soak = os.environ.get("TRIBUNAL_SOAK") == "1"
    # The guest has a /tmp of its own and sees the rest of our files.
    with tempfile.TemporaryDirectory(prefix="tribunal-v2-", dir="/var/tmp") as top:
        seen = pathlib.Path(top)
        seen.chmod(0o755)
        variables = {"TRIBUNAL_BOX_MODES": "v2", "TRIBUNAL_BOX_DEADLINE": "120"}
        programs = {
            "TRIBUNAL_BOX": boxtool.tool_path(),
            "TRIBUNAL_SLOT": boxtool.slot_program,
            "TRIBUNAL_ATTACKER": shop.programs["attacker"],
            "TRIBUNAL_BIGARRAY": shop.programs["bigarray"],
        }
        for variable, program in programs.items():
            variables[variable] = str(seen / os.path.basename(program))
            shutil.copy(program, variables[variable])
        which = [] if soak else ["-k", "test_attack or 35 or 63 or 65 or strict or (dead_tool and SIGKILL)"]
        if not soak:
            variables["TRIBUNAL_FEW"] = "1"
        words = [f"{k}={v}" for k, v in variables.items()]
        done = subprocess.run(
            [HERE / "run-in-uml", "env", *words, "/usr/bin/python3", "-m", "pytest", "-q", "--tb=short",
             "--color=no", *which, HERE / "test_attacks.py", HERE / "test_rules.py"],
            env={**os.environ, "TRIBUNAL_UML_MEMORY": "1536M",
                 "TRIBUNAL_UML_SECONDS": "2400" if soak else "240"},
            cwd=HERE, capture_output=True, text=True, errors="replace", check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
