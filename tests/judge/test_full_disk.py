"""A disk without room: a verdict where it is not needed, one clear sentence where it is, nothing left
behind, and all is well when there is room again."""

import subprocess
import uuid
import zipfile

import pytest

from judging import HONEST, Result, run


@pytest.fixture
def tiny(tmp_path):
    """A file system of a given size; remount with another by calling it again."""
    where = tmp_path / "disk"
    where.mkdir()

    def size(options):
        words = ["-o", f"remount,{options}"] if where.is_mount() else ["-t", "tmpfs", "-o", options, "tmpfs"]
        done = subprocess.run(["mount", *words, where], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a tmpfs CANNOT BE MOUNTED HERE: {done.stderr}")
        return where
    yield size
    if where.is_mount():
        subprocess.run(["umount", "-l", where], check=True)


def files_in(folder):
    return [p for p in folder.rglob("*") if p.is_file() and p.stat().st_size > 0]


def test_a_full_compile_cache_costs_speed_not_verdicts(tiny, tmp_path, problem):
    folder, source, disk = problem(), tmp_path / "main.c", tiny("size=64k")
    source.write_text(f"/* {uuid.uuid4()} */\n" + HONEST)
    for _ in range(2):
        r = Result(run("judge", source, "-p", folder, "--json", "--cache", disk))
        assert r.verdict == "AC" and not r.result["compile"]["cached"], r
        assert files_in(disk) == []
    (disk / "ballast").write_bytes(b"x" * 40_000)  # not even a lock has room
    r = Result(run("judge", source, "-p", folder, "--json", "--cache", disk))
    assert r.verdict == "AC", r
    (disk / "ballast").unlink()
    tiny("size=64m")
    cached = [Result(run("judge", source, "-p", folder, "--json", "--cache", disk)).result["compile"]["cached"]
              for _ in range(2)]
    assert cached == [False, True]


def test_a_cache_that_cannot_be_made_is_a_fault(tiny, tmp_path, problem):
    source, disk = tmp_path / "main.c", tiny("size=64k,nr_inodes=2")
    source.write_text(HONEST)
    done = run("judge", source, "-p", problem(), "--cache", disk / "a/b/c")
    assert done.returncode == 3, done
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr, done.stderr
    tiny("size=64m,nr_inodes=1000")
    assert run("judge", source, "-p", problem(name="again"), "--cache", disk / "a/b/c").returncode == 0


def test_an_archive_that_finds_no_room_is_a_fault(tiny, tmp_path, problem):
    folder, source, disk = problem(), tmp_path / "main.c", tiny("size=128k")
    archive = tmp_path / "p.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
        for f in folder.iterdir():
            z.write(f, f.name)
        z.writestr("2.in", "20 22\n" + " " * 500_000)
        z.writestr("2.out", "42\n")
    source.write_text(HONEST)
    done = run("judge", source, "-p", archive, env={"TMPDIR": str(disk)})
    assert done.returncode == 3 and "No space left" in done.stderr, done
    assert done.stderr.count("\n") == 1
    assert list(disk.iterdir()) == []
    tiny("size=16m")
    assert run("judge", source, "-p", archive, env={"TMPDIR": str(disk)}).returncode == 0
    assert list(disk.iterdir()) == []
