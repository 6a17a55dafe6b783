"""test_input.py - bad input: a sentence and an exit code, never an invented verdict, nothing left."""

import os
import stat
import struct

import pytest

import boxtool

USAGE, FAULT = 2, 3


def refused(mode, folder, words, codes=(USAGE, FAULT), **kw):
    mark = boxtool.new_mark()
    before = boxtool.Leftovers(folder, mark, mode.uid)
    code, out, err = boxtool.call(mode, words, cwd=folder, **kw)
    assert code in codes, (code, out[:200], err[:400])
    assert b'"cause"' not in out, out
    text = err.decode(errors="strict").strip()
    assert text and len(text) < 2000, err
    assert not before.complaints()
    return text


@pytest.mark.parametrize("option,value", [
    ("time", "0"), ("time", "0s"), ("time", "-1s"), ("time", "1"), ("time", "1e9s"), ("time", ""),
    ("time", "99999999999999999999s"), ("time", "1s; rm"), ("time", "nan"), ("time", "10000h"),
    ("wall", "0"), ("wall", "-5ms"), ("wall", "9223372036854775807s"),
    ("memory", "0"), ("memory", "-1"), ("memory", "1"), ("memory", "99999999999999999999"),
    ("memory", "8E"), ("memory", "0x10M"), ("memory", " 64M"),
    ("stack", "0"), ("stack", "-1"), ("pids", "0"), ("pids", "-1"), ("pids", "4294967297"),
    ("output", "0"), ("output", "-1"), ("file-size", "0"), ("files", "0"), ("files", "-3"),
    ("work-size", "0"), ("work-size", "16E"), ("repeat", "0"), ("repeat", "-1"),
    ("cpu", "-2"), ("cpu", "100000"), ("cpu", "x"),
    ("profile", "root"), ("cgroup", "v3"), ("userns", "maybe"), ("nonsense", "1"),
    ("env", "NOEQUALS"), ("env", "=x"),
    ("put", "/nonexistent:a"), ("put", "/etc:etc"), ("put", "/dev/zero:z"),
    ("put", "/etc/passwd:../x"), ("put", "/etc/passwd:/etc/x"), ("put", "/etc/passwd:a/b"),
    ("put", "/etc/passwd:."), ("put", "/etc/passwd:.."), ("put", "/etc/passwd:"),
    ("stdin", "/nonexistent"), ("stdin", "/"), ("stdout", "/nonexistent/x"), ("stdout", "/"),
    ("root", "/nonexistent"), ("root", "/etc/passwd"),
], ids=lambda v: str(v))
def test_bad_option_is_refused(mode, slot_folder, option, value):
    refused(mode, slot_folder, ["run", "--json", *mode.options, f"--{option}", value, "--", "/bin/true"])


@pytest.mark.parametrize("words", [
    ["run"], ["run", "--"], ["run", "--json"], [], ["walk"], ["run", "--time"], ["run", "--", ""],
], ids=lambda w: " ".join(w) or "nothing")
def test_missing_words_are_usage(mode, slot_folder, words):
    refused(mode, slot_folder, words)


def program(folder, name, content, mode_bits=0o755):
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode_bits)
    return path


def elf_header(machine):
    rest = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)
    return b"\x7fELF\x02\x01\x01" + bytes(9) + rest


@pytest.mark.parametrize("name,content,bits", [
    ("wrong_machine", elf_header(183), 0o755),
    ("short_elf", b"\x7fELF", 0o755),
    ("empty", b"", 0o755),
    ("text", b"int main() {}\n", 0o755),
    ("no_interpreter", b"#!/nonexistent/interpreter\n", 0o755),
    ("script_of_itself", b"#!/w/script_of_itself\n", 0o755),
], ids=lambda v: v if isinstance(v, str) else "")
def test_file_that_is_no_program_is_refused(mode, slot_folder, name, content, bits):
    path = program(slot_folder, name, content, bits)
    refused(mode, slot_folder, ["run", "--json", *mode.options, "--put", f"{path}:{name}", "--", f"./{name}"])


MISSING = ["./missing", "/w/missing", "missing-in-path", "/", "/w", "..", "./a/b", "/etc", "/proc/self/mem",
           "x" * 300, "/" + "y/" * 3000]


@pytest.mark.parametrize("command", MISSING, ids=lambda c: c[:20])
def test_command_that_is_not_there_is_refused(mode, slot_folder, command):
    refused(mode, slot_folder, ["run", "--json", *mode.options, "--", command])


def test_ten_thousand_arguments_arrive_or_are_refused(mode, shop, slot_folder):
    """All of them or a sentence; never some of them."""
    args = [f"argument-{i}" for i in range(10000)]
    script = 'echo "$# $1 ${10000}"'
    words = ["run", "--json", *mode.options, "--stdout", str(slot_folder / "out"), "--",
             "/bin/sh", "-c", script, "sh", *args]
    code, out, err = boxtool.call(mode, words, cwd=slot_folder)
    if code == 0:
        assert (slot_folder / "out").read_text() == "10000 argument-0 argument-9999\n"
    else:
        assert code in (USAGE, FAULT) and err.strip(), (code, out, err)


def test_empty_and_odd_arguments_arrive_unchanged(mode, slot_folder):
    """No shell anywhere: what is given is what the program gets, byte for byte."""
    odd = ["", " ", "a b", ";", "$(id)", "`id`", "\n", "'\"", "--", "-x", "*", "\\", "\x1b[0m", "\udcff\udcfe",
           "%s%n"]
    words = ["run", "--json", *mode.options, "--stdout", str(slot_folder / "out"), "--",
             "/usr/bin/printf", "<%s>", *odd]
    code, out, err = boxtool.call(mode, words, cwd=slot_folder)
    assert code == 0, (code, err)
    assert (slot_folder / "out").read_bytes() == b"".join(b"<" + os.fsencode(a) + b">" for a in odd)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=lambda c: "".join(map(str, c)))
def test_closed_streams_of_the_caller_are_no_door(mode, shop, slot_folder, closed):
    """With 0, 1 or 2 closed the next file that is opened gets that number: it must not be the program's."""
    script = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n in closed)
    out = slot_folder / "out"
    words = ["run", *mode.options, *boxtool.put_options({"a": shop.programs["attacker"]}),
             "--time", "20s", "--stdout", str(out), "--", "./a", "probe_descriptors", boxtool.new_mark()]
    closing = boxtool.dataclasses.replace(
        mode, prefix=("sh", "-c", f'exec "$@" {script}', "sh", *mode.prefix))
    code, _, _ = boxtool.call(closing, words, cwd=slot_folder)
    assert code in (0, USAGE, FAULT), code
    if code == 0:
        assert "ESCAPED" not in out.read_text(), out.read_text()


def test_output_file_that_is_a_link_is_not_followed_blindly(mode, slot_folder):
    """The judge names the output file; what comes out must be a file of the judge's, mode and owner too."""
    out = slot_folder / "out"
    code, _, err = boxtool.call(
        mode, ["run", *mode.options, "--stdout", str(out), "--", "/bin/echo", "hello"], cwd=slot_folder)
    assert code == 0, err
    st = out.stat()
    assert stat.S_ISREG(st.st_mode) and st.st_uid == (mode.uid or 0) and not st.st_mode & 0o022
    assert out.read_text() == "hello\n"
