"""What dist/ promises: units that systemd accepts, completion that knows the commands."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))


@pytest.mark.parametrize("unit", ["tribunald.service", "tribunal-worker.service"])
def test_systemd_takes_the_unit(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    # The programs are not installed here; any executable will do for the check.
    text = (ROOT / "dist/systemd" / unit).read_text()
    text = text.replace("/usr/bin/tribunal", "/bin/true #").replace("Documentation=", "#")
    (tmp_path / unit).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / unit], capture_output=True,
                          text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if unit in line]
    assert not ours, ours


@pytest.mark.parametrize("words,expected", [
    (["que"], ["queue"]),
    (["queue", "mig"], ["migrate"]),
    (["queue", "enqueue", "--payl"], ["--payload"]),
], ids=["a command", "a command's command", "an option"])
def test_bash_completes(words, expected):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tribunal; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", ROOT / "dist/completion/tribunal.bash",
                           BUILD / "src/cli/tribunal", *words], capture_output=True, text=True,
                          check=True, timeout=30)
    assert done.stdout.split() == expected
