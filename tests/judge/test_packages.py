"""What a package says is honoured, or its author is told that it is not."""

import json

import pytest

from judging import Result, run

PI = '#include <stdio.h>\nint main(void){puts("3.141");}\n'


@pytest.fixture
def package(tmp_path):
    def make(files, name="package"):
        for path, text in files.items():
            where = tmp_path / name / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text)
        return tmp_path / name
    return make


def data_in(*folders):
    return {f"{folder}/1.{end}": text for folder in folders for end, text in (("in", "1\n"), ("ans", "3.14159\n"))}


@pytest.mark.parametrize("head, file, flags", [
    ("name: x\n", "testdata.yaml", "output_validator_flags: float_tolerance 1e-2\n"),
    ("problem_format_version: 2025-09\nname: x\nuuid: u\n", "test_group.yaml",
     "output_validator_args: [float_tolerance, 1e-2]\n"),
    ("problem_format_version: 2025-09\nname: x\nuuid: u\n", "1.yaml",
     "output_validator_args: [float_tolerance, 1e-2]\n"),
], ids=["legacy", "2025-09 group", "2025-09 test"])
def test_a_groups_arguments_hold_for_its_tests_alone(head, file, flags, package, judge):
    """Before, the arguments of the last group that had any held for all."""
    folder = package({"problem.yaml": head, f"data/secret/b/{file}": flags,
                      **data_in("data/secret/a", "data/secret/b", "data/secret/c")})
    r = judge(PI, folder, "main.c", "--all")
    assert [c["status"] for c in r.cases] == ["WA", "AC", "WA"], r


def test_a_groups_arguments_reach_a_validator(package, judge):
    validator = "import sys\nsys.exit(42 if sys.argv[4:] == open(sys.argv[1]).read().split() else 43)\n"
    folder = package({"problem.yaml": "validation: custom\nvalidator_flags: top\n",
                      "output_validators/v.py": validator,
                      "data/secret/a/1.in": "top\n", "data/secret/a/1.ans": "",
                      "data/secret/b/1.in": "deep er\n", "data/secret/b/1.ans": "",
                      "data/secret/b/testdata.yaml": "output_validator_flags: deep er\n"})
    r = judge(PI, folder, "main.c", "--all")
    assert r.verdict == "AC", r


def check(folder, *flags):
    done = run("problem", "check", folder, "--json", *flags)
    return done, json.loads(done.stdout)


def test_what_is_not_honoured_is_said(package):
    folder = package({"problem.yaml": "problem_format_version: 2025-09\nname: x\nuuid: u\n",
                      "data/secret/test_group.yaml": "args: [--fast]\n", **data_in("data/secret"),
                      "submissions/odd/a.c": PI,
                      "submissions/submissions.yaml": "accepted/a.c: {use_for_time_limit: lower}\n"})
    _, doc = check(folder)
    notes = "\n".join(doc["notes"])
    assert "data/secret/test_group.yaml:1: args is not used" in notes
    assert "use_for_time_limit is not used" in notes
    assert "submissions/odd" in notes
    assert doc["judged"] == 0


RULES = [
    ("permitted holds", "wrong_answer/a.c: {permitted: [AC, WA]}", 0),
    ("permitted does not", "wrong_answer/a.c: {permitted: [AC, TLE]}", 1),
    ("required holds, though it is not the first failure", "'*/a.c': {required: [AC]}", 0),
    ("required does not", "wrong_answer: {permitted: [AC, WA], required: [TLE, RTE]}", 1),
    ("a score in range", "wrong_answer/*: {permitted: [AC, WA], score: [0, 10]}", 0),
    ("a score out of range", "wrong_answer/*: {permitted: [AC, WA], score: 50}", 1),
    ("no rule for it: its folder's name decides", "'accepted/*': {permitted: [AC]}", 0),
    ("a folder of its own", "mixed/*: {required: [WA]}", 0),
]


@pytest.mark.parametrize("label, rule, unexpected", RULES, ids=[r[0] for r in RULES])
def test_submissions_yaml_says_what_is_expected(label, rule, unexpected, package):
    where = "mixed" if rule.startswith("mixed") else "wrong_answer"
    folder = package({"problem.yaml": "problem_format_version: 2025-09\nname: x\nuuid: u\n",
                      "data/secret/1.in": "1\n", "data/secret/1.ans": "other\n",
                      "data/secret/2.in": "1\n", "data/secret/2.ans": "3.141\n",
                      f"submissions/{where}/a.c": PI, "submissions/submissions.yaml": rule + "\n"})
    done, doc = check(folder)
    assert (doc["judged"], doc["unexpected"]) == (1, unexpected), doc
    assert done.returncode == unexpected


@pytest.mark.parametrize("text, words", [("a: [", "submissions.yaml"), ("a: {permitted: [OK]}", "AC"),
                                         ("a: {score: many}", "score")])
def test_a_bad_submissions_yaml_is_refused(text, words, package):
    folder = package({"problem.yaml": "name: x\n", **data_in("data/secret"),
                      "submissions/submissions.yaml": text + "\n"})
    done = run("problem", "check", folder)
    assert done.returncode == 2 and words in done.stderr, done.stderr


# ---- testlib.h: not ours to ship, easy to add

CHECKER = '#include "testlib.h"\nint main(int c, char **v) { return tiny(c, v); }\n'
TINY = "#pragma once\nstatic inline int tiny(int c, char **) { return c == 4 ? 0 : 3; }\n"
YAML = "time_limit: 500\nchecker: {type: testlib, source: checker.cpp}\n"


def test_without_testlib_the_error_says_where_to_put_it(problem, judge):
    folder = problem(files={"checker.cpp": CHECKER}, yaml=YAML)
    r = judge(PI, folder)
    assert r.code == 2 and "testlib.h" in r.stderr, r
    assert "beside the checker" in r.stderr and "--include" in r.stderr, r


@pytest.mark.parametrize("place", ["beside", "folder", "include", "environment"])
def test_testlib_is_found(place, problem, tmp_path):
    files = {"beside": {"checker.cpp": CHECKER, "testlib.h": TINY},
             "folder": {"check/checker.cpp": CHECKER, "check/testlib.h": TINY}}.get(
                 place, {"checker.cpp": CHECKER})
    folder = problem(files=files, yaml=YAML.replace("checker.cpp", "check") if place == "folder" else YAML)
    shared = tmp_path / "shared"
    shared.mkdir()
    if place in ("include", "environment"):
        (shared / "testlib.h").write_text(TINY)
    source = tmp_path / "main.c"
    source.write_text(PI)
    flags = ["--include", shared] if place == "include" else []
    env = {"TRIBUNAL_INCLUDE": str(shared)} if place == "environment" else {}
    r = Result(run("judge", source, "-p", folder, "--json", *flags, env=env))
    assert r.verdict == "AC", r


# What testlib's own programs answer with, without testlib: its exit codes and its words.
PROTOCOL = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
static int quit(int code, const std::string &words) { fprintf(stderr, "%s\n", words.c_str()); return code; }
int main(int argc, char **argv)
{
    if (argc != 4)
        return quit(3, "FAIL wrong number of arguments");
    std::ifstream in(argv[1]), out(argv[2]), ans(argv[3]);
    std::string want, got, token;
    in >> want;
    ans >> token;
    if (!(out >> got) || token != "x")
        return quit(3, "FAIL cannot read");
    if (want == "ok") return quit(0, "ok 1 token");
    if (want == "wa") return quit(1, "wrong answer 1st words differ");
    if (want == "pe") return quit(2, "wrong output format Unexpected end of file");
    if (want == "fail") return quit(3, "FAIL the jury's answer is wrong");
    if (want == "points") return quit(7, "points 40");
    if (want == "nopoints") return quit(7, "points many");
    if (want == "eof") return quit(8, "unexpected eof");
    abort();
}
"""


@pytest.mark.parametrize("word, verdict, sub, message", [
    ("ok", "AC", "", "ok 1 token"), ("wa", "WA", "", "wrong answer 1st words differ"),
    ("pe", "WA", "PE", "wrong output format Unexpected end of file"),
    ("fail", "JE", "", "FAIL the jury's answer is wrong"), ("points", "WA", "PC", "points 40"),
    ("nopoints", "JE", "", "points many"), ("eof", "WA", "PE", "unexpected eof"), ("crash", "JE", "", None)])
def test_a_cpp_checker_speaks_testlibs_protocol(word, verdict, sub, message, problem, judge):
    folder = problem(tests=((word + "\n", "x\n"),), files={"checker.cpp": PROTOCOL},
                     yaml="time_limit: 500\nscoring: oi\nchecker: {type: testlib, source: checker.cpp}\n")
    r = judge(PI, folder)
    assert (r.verdict, r.cases[0].get("subcode", "")) == (verdict, sub), r
    assert message is None or r.cases[0]["message"] == message, r
    if word == "points":
        assert r.doc["score"] == 40, r
