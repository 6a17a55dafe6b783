"""test_compile.py - attacks on the compiler, which runs in a box like everything else.

Here: bounded time, memory and output, nothing of outside in the message or in the program, nothing
left, and the next compilation in the same slot is fine. That the verdict is CE comes with the judge.
"""

import os
import shutil

import pytest

import boxtool
from boxtool import Run

# From here on no test measures times closely, so the slow machine of test_uml may start its work.
pytestmark = pytest.mark.usefixtures("v2_machine")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {"time": "1500ms", "wall": "8s", "memory": "512M", "pids": 64, "output": "64K",
          "file-size": "32M", "stack": "64M"}
OUTPUT_BYTES = 64 * 1024
HONEST = b"#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n"

# name -> rows of ATTACKS.md
SOURCES = {
    "dev_zero.c": "66", "dev_random.c": "66", "dev_urandom.c": "66", "dev_stdin.c": "66", "dev_tty.c": "66",
    "proc_self_mem.c": "66", "proc_environ.c": "67", "include_passwd.c": "67", "include_answer.c": "67",
    "incbin.c": "67", "has_include.c": "67", "include_self.c": "68", "macro_bomb.c": "68",
    "deep_nesting.c": "68", "huge_object.c": "69", "array_1g.c": "69", "template_bomb.cpp": "70",
    "constexpr_bomb.cpp": "70", "error_flood.cpp": "71", "warning_flood.c": "71", "nul_bytes.c": "76",
}
# A bomb whose size is bounded may end by itself, and a file may be empty: what counts is that it ends.
MAY_SUCCEED = {
    "dev_stdin.c", "proc_self_mem.c", "nul_bytes.c", "has_include.c",
    "deep_nesting.c", "constexpr_bomb.cpp", "warning_flood.c",
}


def compile_run(name, *more, limits=None, **kw):
    argv = ["g++" if name.endswith(".cpp") else "gcc", "-O1", "-w", *more, "-o", "prog", f"./{name}"]
    return Run(argv, None, {**LIMITS, **(limits or {})}, {}, ["prog"], **kw)


def host_secrets(shop):
    """Pieces of the host that must never be in a message or a program."""
    found = [b"SECRET-ANSWER", b"root:x:0:0", b"root:*:", b"root:!"]
    return [*found, str(shop.top).encode() + b"/slot"]


def complaints(o, shop, folder):
    found = []
    text = o.stdout + o.stderr
    if len(text) > OUTPUT_BYTES + 65536:
        found.append(f"{len(text)} bytes of messages")
    for secret in host_secrets(shop):
        # The path is in the source, so the compiler may say that it does not exist.
        if secret in text.replace(bytes(shop.secret), b"") or secret in (o.got.get("prog") or b""):
            found.append(f"{secret!r} came out: {text[:300]!r}")
    if o.report["cpu_us"] > 1_600_000:
        found.append(f"{o.report['cpu_us']} us of CPU")
    if o.report["memory_kib"] > 512 * 1024 + boxtool.MEMORY_ROOM_KIB:
        found.append(f"{o.report['memory_kib']} KiB")
    if o.got.get("prog") and len(o.got["prog"]) > 32 << 20:
        found.append("a program larger than a file may be")
    return found


def check_around(mode, shop, folder, puts, run, succeed=False):
    """Honest, attack, honest: returns what the attack did."""
    mark = boxtool.new_mark()
    before = boxtool.Leftovers(folder, mark, mode.uid)
    honest = folder / "honest.c"
    honest.write_bytes(HONEST)
    puts = {"honest.c": honest, **puts}
    run.env["MARK"] = mark
    first, o, last = boxtool.run_slot(
        mode, [compile_run("honest.c"), run, compile_run("honest.c")], puts, folder,
        "--profile", "compile")
    found = complaints(o, shop, folder)
    for h in (first, last):
        if h.report["cause"] != "exit" or h.report["exit"] != 0 or not h.got["prog"]:
            found.append(f"honest compilation: {h.report} {h.stderr[:200]!r}")
    if first.got["prog"] != last.got["prog"]:
        found.append("the second honest program differs from the first")
    if not succeed and o.report["cause"] == "exit" and o.report["exit"] == 0:
        found.append("compiled")
    honest.unlink()
    found += [f"left: {c}" for c in before.complaints()]
    assert not found, "\n".join(found)
    return o


@pytest.fixture(autouse=True)
def compiler(mode, skip_row, request):
    if mode.cgroup == "none":
        skip_row(mode, "66-76_" + request.node.name.partition("[")[0], mode.lacks["memory"])
    if not shutil.which("g++"):
        skip_row(mode, "66-76_compile", "no g++ here")


@pytest.mark.parametrize("name", SOURCES, ids=lambda n: f"{SOURCES[n]}_{n}")
def test_hostile_source_is_bounded(mode, shop, slot_folder, name):
    source = slot_folder / name
    text = open(os.path.join(HERE, "compile", name), "rb").read()
    source.write_bytes(text.replace(b"@SECRET@", bytes(shop.secret)))
    check_around(mode, shop, slot_folder, {name: source}, compile_run(name), name in MAY_SUCCEED)


def test_71_message_flood_is_cut(mode, shop, slot_folder):
    """Hundreds of megabytes of errors: the compiler ends early and little of it comes out."""
    name = "error_flood.cpp"
    source = slot_folder / name
    source.write_bytes(open(os.path.join(HERE, "compile", name), "rb").read())
    run = compile_run(name, "-fmax-errors=0", "-ftrack-macro-expansion=2")
    o = check_around(mode, shop, slot_folder, {name: source}, run)
    assert o.report["cause"] in ("output", "cpu", "memory"), o.report


SHELL = {
    # 72: whatever the compiler can be talked into running is in the box too
    "72_code_run_by_the_compiler": (
        "cat {secret} /etc/shadow /proc/1/environ; ls /root /home; echo x > /usr/x;"
        "kill -9 1 $PPID; kill -9 -1; exit 1",
        ("exit", "signal"),
    ),
    "72_endless_code_by_the_compiler": ("while :; do :; done", ("cpu",)),
    # 73: what stands where the program should be
    "73_program_is_a_link": ("ln -s {secret} prog; exit 0", ("exit",)),
    "73_program_is_a_link_to_passwd": ("ln -s /etc/passwd prog; exit 0", ("exit",)),
    "73_program_is_a_fifo": ("mkfifo prog; exit 0", ("exit",)),
    "73_program_is_a_folder": ("mkdir prog; exit 0", ("exit",)),
    "73_program_is_huge": (
        "dd if=/dev/zero of=prog bs=1M count=64; exit 0",
        ("exit", "files", "signal", "memory"),
    ),
    # 75
    "75_compiler_leaves_a_daemon": ("for i in 1 2 3 4 5; do setsid sleep 1000 & done; exit 0", ("exit",)),
}


@pytest.mark.parametrize("name", SHELL)
def test_compiler_that_turns_hostile(mode, shop, slot_folder, name):
    script, causes = SHELL[name]
    argv = ["/bin/sh", "-c", script.replace("{secret}", str(shop.secret))]
    # A full machine may not have the CPU time of others within their wall limit.
    limits = {**LIMITS, "time": "500ms", "wall": "20s"} if causes == ("cpu",) else LIMITS
    o = check_around(mode, shop, slot_folder, {}, Run(argv, None, limits, {}, ["prog"]), succeed=True)
    assert o.report["cause"] in causes, o.report
    if name.startswith("73"):
        assert not o.got["prog"] or len(o.got["prog"]) <= 32 << 20, o.got
    if name.startswith("73_program_is_a_"):
        assert not o.got["prog"], o.got
    if name.startswith("75"):
        assert o.report["killed"] == 5, o.report


NAMES = ["a b.c", "a;id;.c", "a\nb.c", "-o.c", "-wrapper.c", "$(id).c", "'\".c", "\u00e9\u4e2d.c",
         "x" * 250 + ".c", "*.c"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_74_names_are_names(mode, shop, slot_folder, name):
    """No shell and no option: a source may be called what it wants."""
    source = slot_folder / "source"
    source.write_bytes(HONEST)
    o = check_around(mode, shop, slot_folder, {name: source}, compile_run(name), succeed=True)
    assert o.report["cause"] == "exit" and o.report["exit"] == 0 and o.got["prog"], (o.report, o.stderr)


def test_76_object_file_is_no_source(mode, shop, slot_folder):
    source = shop.programs["attacker"]
    run = Run(["gcc", "-x", "c", "-o", "prog", "./object.c"], None, LIMITS, {}, ["prog"])
    o = check_around(mode, shop, slot_folder, {"object.c": source}, run)
    assert o.report["cause"] in ("exit", "output", "cpu"), o.report
