"""uml.py - the rows on pure cgroup v2, on a machine of their own: user-mode Linux.

The machine takes one core for a minute, most of it in a kernel that is slow by itself, so it runs beside
tests that measure no times: start() early, end() when its answer is wanted.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import boxtool
from matrix import HERE

SHORT_ROWS = "test_attack or 35 or 63 or 65 or strict or (dead_tool and SIGKILL)"


def why_missing():
    if not shutil.which("linux.uml"):
        return "needs the package user-mode-linux"
    return None if os.geteuid() == 0 else "needs root"


class Machine:
    """Runs the other tests inside, with the short list or, for TRIBUNAL_SOAK=1, the whole table."""

    def __init__(self, shop):
        soak = os.environ.get("TRIBUNAL_SOAK") == "1"
        # The guest has a /tmp of its own and sees the rest of our files.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tribunal-v2-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        words = [f"{k}={v}" for k, v in self._variables(shop, soak).items()]
        which = [] if soak else ["-k", SHORT_ROWS]
        self.output = open(self.folder / "output", "w+b")
        self.proc = subprocess.Popen(
            [HERE / "run-in-uml", "env", *words, "/usr/bin/python3", "-m", "pytest", "-q", "--tb=short",
             "--color=no", "-p", "no:cacheprovider", *which, HERE / "test_attacks.py", HERE / "test_rules.py"],
            env={**os.environ, "TRIBUNAL_UML_MEMORY": "1536M",
                 "TRIBUNAL_UML_SECONDS": "2400" if soak else "240"},
            cwd=HERE, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True)

    def _variables(self, shop, soak):
        found = {"TRIBUNAL_BOX_MODES": "v2", "TRIBUNAL_BOX_DEADLINE": "120"}
        programs = {
            "TRIBUNAL_BOX": boxtool.tool_path(),
            "TRIBUNAL_SLOT": boxtool.slot_program,
            "TRIBUNAL_ATTACKER": shop.programs["attacker"],
            "TRIBUNAL_BIGARRAY": shop.programs["bigarray"],
        }
        for variable, program in programs.items():
            found[variable] = str(self.folder / os.path.basename(program))
            shutil.copy(program, found[variable])
        return found if soak else {**found, "TRIBUNAL_FEW": "1"}

    def end(self):
        """Its exit code and what it said."""
        code = self.proc.wait()
        self.output.seek(0)
        return code, self.output.read().decode(errors="replace")

    def close(self):
        """Also when nobody asked: nothing of it is left."""
        if self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGTERM)
            self.proc.wait()
        self.output.close()
        shutil.rmtree(self.folder, ignore_errors=True)
