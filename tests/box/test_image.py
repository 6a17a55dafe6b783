"""test_image.py - a box whose system folders are an unpacked image, and nothing of the host.

The image is a small real one: a shell, some tools and C++'s runtime with their loader, in the places that
their ELF headers ask for.
"""

import os
import re
import shutil
import subprocess

import pytest

import boxtool
from boxtool import Run

PROGRAMS = ["/bin/sh", "/usr/bin/cat", "/usr/bin/ls", "/usr/bin/id", "/usr/bin/touch"]
LIMITS = {"time": "2s", "wall": "10s"}


def files_needed(program):
    """The libraries and the loader of a dynamic program, as ldd names them."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(/\S+) \(0x", said))


@pytest.fixture(scope="session")
def sum_program(shop):
    source, program = shop.top / "sum.cc", shop.top / "sum"
    source.write_text("#include <iostream>\nint main() { long a, b; std::cin >> a >> b;"
                      " std::cout << a + b << std::endl; }\n")
    subprocess.run(["c++", "-O2", "-o", program, source], check=True)
    return program


@pytest.fixture(scope="session")
def image(shop, sum_program):
    top = shop.top / "image"
    for folder in ("etc", "usr/lib", "usr/bin", "tmp", "proc"):
        (top / folder).mkdir(parents=True)
    for link in ("bin", "lib"):  # as every Debian has it
        (top / link).symlink_to(f"usr/{link}")
    (top / "lib64").symlink_to("usr/lib")
    needed = set(PROGRAMS).union(*(files_needed(p) for p in (*PROGRAMS, str(sum_program))))
    for path in needed:
        to = top / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    (top / "etc/release").write_text("the image\n")
    return top


def in_image(mode, image, folder, argv, puts=None, **kw):
    return boxtool.run_one(mode, Run(argv, limits=LIMITS, **kw), puts or {}, folder, "--root", str(image))


def test_programs_of_the_image_run(mode, slot_folder, image):
    o = in_image(mode, image, slot_folder, ["/bin/sh", "-c", "cat /etc/release; ls /etc /usr/bin"])
    assert o.lines == ["the image", "/etc:", "release", "", "/usr/bin:",
                       *sorted(os.path.basename(p) for p in os.listdir(image / "usr/bin"))], o


def test_a_program_that_was_put_runs_on_the_libraries_of_the_image(mode, slot_folder, image, sum_program):
    numbers = slot_folder / "numbers"
    numbers.write_text("12 30\n")
    o = in_image(mode, image, slot_folder, ["./sum"], {"sum": sum_program}, stdin=str(numbers))
    assert (o.report["cause"], o.stdout) == ("exit", b"42\n"), o


def test_nothing_of_the_host_is_seen(mode, slot_folder, image):
    o = in_image(mode, image, slot_folder, ["/bin/sh", "-c", "ls -d /* /usr/bin/python3 /etc/alternatives"])
    assert set(o.lines) == {"/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/tmp", "/usr", "/w"}, o
    words = ["run", "--json", *mode.options, "--root", str(image), "--", "python3", "-c", ""]
    code, out, err = boxtool.call(mode, words, cwd=slot_folder)
    assert code in (2, 3) and b"no program 'python3' in the box" in err and not out, (code, out, err)


def test_the_image_cannot_be_changed(mode, slot_folder, image):
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in image.rglob("*"))
    o = in_image(mode, image, slot_folder,
                 ["/bin/sh", "-c", "touch /etc/x /x /usr/x; echo no >>/etc/release; touch /w/x /tmp/x && echo here"])
    assert o.lines[-1:] == ["here"], o
    assert before == sorted((str(p), p.lstat().st_mtime_ns) for p in image.rglob("*"))


@pytest.mark.parametrize("root, sentence", [("relative", b"full path"), ("/no/such/image", b"/no/such/image")])
def test_an_image_that_is_none_is_an_error(mode, slot_folder, root, sentence):
    words = ["run", "--json", *mode.options, "--root", root, "--", "/bin/sh"]
    code, out, err = boxtool.call(mode, words, cwd=slot_folder)
    assert code in (2, 3) and sentence in err and not out, (code, out, err)
