"""What dist/ promises: units that systemd accepts, completion that knows the commands, packages and
images that have every file the build installs and every library it links."""

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
DEBIAN = ROOT / "dist/debian"


@pytest.mark.parametrize("unit", ["tribunald.service", "tribunal-worker.service"])
def test_systemd_takes_the_unit(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    # The programs are not installed here; any executable will do for the check.
    text = (BUILD / "dist/systemd" / unit).read_text()
    text = re.sub("^ExecStart=.*", "ExecStart=/bin/true", text, flags=re.M)
    (tmp_path / unit).write_text(text.replace("Documentation=", "#"))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / unit], capture_output=True,
                          text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if unit in line]
    assert not ours, ours


@pytest.fixture(scope="module", name="installed")
def install_into_a_folder_with_spaces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a b")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder],
                   check=True, capture_output=True, timeout=60)
    return folder


def as_packaged(installed):
    """Every installed file under the name that it has with prefix /usr and Debian's folder for units."""
    prefix = next(installed.rglob("bin/tribunald")).parents[1].relative_to(installed)
    for path in installed.rglob("*"):
        if path.is_symlink() or path.is_file():
            name = re.sub(f"^{re.escape(str(prefix))}/", "usr/", str(path.relative_to(installed)))
            yield name.replace("usr/lib/systemd/system/", "lib/systemd/system/")


def patterns():
    """(package, pattern) for each line of debian/*.install that names something that is built."""
    for file in DEBIAN.glob("*.install"):
        for line in file.read_text().splitlines():
            if not line.startswith("dist/"):
                yield file.stem, line


def matches(name, pattern):
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern + "/*")


def test_each_installed_file_is_in_one_package(installed):
    names, wanted = list(as_packaged(installed)), list(patterns())
    assert len(names) > 50
    for name in names:
        owners = [package for package, pattern in wanted if matches(name, pattern)]
        assert len(owners) == 1, f"{name} is in {owners or 'no package'}"
    for package, pattern in wanted:
        assert any(matches(name, pattern) for name in names), f"{package}: nothing is {pattern}"


def test_packages_ship_files_that_exist():
    lines = [line for file in DEBIAN.glob("*.install") for line in file.read_text().splitlines()
             if line.startswith("dist/")]
    assert lines and all((ROOT / line.split()[0]).is_file() for line in lines)


def test_units_start_the_programs_of_this_prefix(installed):
    for unit in installed.rglob("*.service"):
        program = re.search("^ExecStart=(\\S+)", unit.read_text(), re.M).group(1)
        assert (installed / program.lstrip("/")).is_file(), program


def test_the_package_has_the_version_of_the_build():
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert (DEBIAN / "changelog").read_text().startswith(f"tribunal ({version}) ")


def test_what_a_package_build_needs_is_what_setup_installs():
    setup = re.search(r"^build=\(([^)]*)\)", (ROOT / "dev/setup").read_text(), re.M).group(1).split()
    wanted = re.search(r"^Build-Depends:\n((?: .*\n)+)", (DEBIAN / "control").read_text(), re.M).group(1)
    names = {line.split()[0].rstrip(",") for line in wanted.splitlines()}
    assert names - set(setup) <= {"debhelper-compat", "python3"}  # python3 comes with meson


def test_the_image_has_the_libraries_that_are_linked(installed):
    recipe = (ROOT / "dist/oci/Containerfile").read_text().split("AS base", 1)[1].split("FROM", 1)[0]
    programs = [p for p in installed.rglob("bin/tribunal*") if p.is_file()]
    linked = subprocess.run(["readelf", "-d", *programs], check=True, capture_output=True, text=True,
                            timeout=60).stdout
    wanted = {n for n in re.findall(r"NEEDED.*\[(.+)\]", linked) if "tribunal" not in n}
    given = set()
    for package in ["libc6", *(word for word in recipe.split() if word.startswith("lib"))]:
        files = subprocess.run(["dpkg-query", "-L", package], check=True, capture_output=True,
                               text=True, timeout=60).stdout
        given |= {line.rsplit("/", 1)[1] for line in files.splitlines()}
    assert len(wanted) > 8 and not wanted - given


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
