"""Bad input ends in exit 2 or 3, one clear sentence, and nothing left behind."""

import os
import stat
import zipfile

import pytest

from judging import HONEST, Result, run

pytestmark = pytest.mark.leaves_nothing


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "main.c"
    path.write_text(HONEST)
    return path


def refused(done, *words):
    assert done.returncode in (2, 3), done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert done.stdout == ""


def test_a_missing_problem_folder(source, tmp_path):
    refused(run("judge", source, "-p", tmp_path / "nothing"), "nothing", "No such file")


def test_a_folder_without_tests(source, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(run("judge", source, "-p", tmp_path / "empty"), "no tests")


def test_an_input_without_an_answer(source, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "1.in").write_text("")
    refused(run("judge", source, "-p", folder), "1.in", "no answer")


def test_an_unknown_language(source, problem, tmp_path):
    refused(run("judge", source, "-p", problem(), "--lang", "cobol"), "cobol")
    strange = tmp_path / "main.xyz"
    strange.write_text("x")
    refused(run("judge", strange, "-p", tmp_path), "main.xyz", "--lang")


def test_a_source_of_two_megabytes(problem, tmp_path):
    path = tmp_path / "long.c"
    path.write_text("/*" + "x" * 2_000_000 + "*/")
    refused(run("judge", path, "-p", problem()), "long.c", "1000000 bytes")


def test_an_unreadable_file(problem, tmp_path):
    refused(run("judge", tmp_path / "nothing.c", "-p", problem()), "nothing.c")
    refused(run("judge", tmp_path, "-p", tmp_path, "--lang", "c11"), "is a folder")
    fifo = tmp_path / "fifo.c"
    os.mkfifo(fifo)
    refused(run("judge", fifo, "-p", tmp_path), "fifo.c")


def test_no_problem_named(source):
    refused(run("judge", source), "-p")


def zip_of(path, name, content, mode=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        if mode:
            info.create_system = 3
            info.external_attr = mode << 16
        z.writestr(info, content)
    return path


def test_84_archives_that_attack(source, tmp_path):
    slip = zip_of(tmp_path / "slip.zip", "../../evil", "x")
    refused(run("judge", source, "-p", slip), "leaves its folder")
    absolute = zip_of(tmp_path / "abs.zip", "/tmp/evil", "x")
    refused(run("judge", source, "-p", absolute), "absolute")
    link = zip_of(tmp_path / "link.zip", "1.in", "/etc/passwd", stat.S_IFLNK | 0o777)
    refused(run("judge", source, "-p", link), "symbolic link")
    bomb = zip_of(tmp_path / "bomb.zip", "1.in", b"\0" * (200 << 20))
    refused(run("judge", source, "-p", bomb), "times its packed size")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04" + b"x" * 100)
    refused(run("judge", source, "-p", broken), "zip")


def test_a_broken_task_says_what_is_wrong(tmp_path):
    path = tmp_path / "task.json"
    for text, word in (("{", "JSON"), ("[]", "object"), ('{"submit_id": 1}', "submit_id"),
                       ("[" * 100000, "JSON"), ('{"a":1,"a":2}', "duplicate")):
        path.write_text(text)
        refused(run("judge", "--task", path), word)


def test_json_is_one_document_also_for_a_fault(source, tmp_path):
    r = Result(run("judge", source, "-p", tmp_path / "nothing", "--json"))
    assert r.code == 2 and r.doc["type"] == "error" and "nothing" in r.doc["error"]
