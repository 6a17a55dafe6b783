"""Checkers of every convention; one that fails is a judge error, never a wrong answer."""

import pytest

# Each accepts 42 and refuses all else, the way its convention asks.
KINDS = {
    "testlib": ("checker.py", "import sys\no = open(sys.argv[2]).read().split()\n"
                "sys.stderr.write('ok fine' if o == ['42'] else 'wrong answer no')\nsys.exit(o != ['42'])\n"),
    "kattis": ("checker.py", "import sys\no = sys.stdin.read().split()\n"
               "open(sys.argv[3] + 'judgemessage.txt', 'w').write('looked at it')\n"
               "sys.exit(42 if o == ['42'] else 43)\n"),
    "qduoj": ("spj.py", "import sys\nsys.exit(open(sys.argv[2]).read().split() != ['42'])\n"),
    "hustoj": ("spj.py", "import sys\nassert open(sys.argv[2]).read() == '42\\n'\n"
               "sys.exit(open(sys.argv[3]).read().split() != ['42'])\n"),
    "lemon": ("checker.py", "import sys\nok = open(sys.argv[2]).read().split() == ['42']\n"
              "open(sys.argv[5], 'w').write(str(int(sys.argv[4]) if ok else 0))\n"
              "open(sys.argv[6], 'w').write('message')\n"),
    "syzoj": ("checker.py", "import sys\nok = open('user_out').read().split() == ['42']\n"
              "print(100 if ok else 0)\nsys.stderr.write('message')\n"),
}

SAYS = '#include <stdio.h>\nint main(void){puts("%s");}'


def yaml(kind, source):
    return f"time_limit: 500\nchecker: {{type: {kind}, source: {source}}}\n"


@pytest.mark.parametrize("kind", KINDS)
def test_each_convention_accepts_and_refuses(kind, judge, problem):
    source, text = KINDS[kind]
    folder = problem(files={source: text}, yaml=yaml(kind, source))
    assert judge(SAYS % "42", folder).verdict == "AC"
    wrong = judge(SAYS % "41", folder)
    assert wrong.verdict == "WA", wrong
    if kind in ("testlib", "kattis", "lemon", "syzoj"):
        assert wrong.cases[0]["message"]


FAULTS = [
    ("crashes", "import os\nos.abort()\n"),
    ("exits strangely", "import sys\nsys.exit(99)\n"),
    ("hangs", "import time\nwhile True: time.sleep(9)\n"),
    ("eats memory", "x = []\nwhile True: x.append(bytearray(1 << 24))\n"),
    ("raises", "raise ValueError\n"),
]


@pytest.mark.parametrize("label, text", FAULTS, ids=[f[0] for f in FAULTS])
@pytest.mark.parametrize("kind", ["testlib", "kattis"])
def test_83_a_checker_that_fails_is_a_judge_error(label, text, kind, judge, problem):
    if kind == "testlib" and label in ("raises", "hangs"):
        return  # exit code 1 is testlib's own word for wrong answer; one that hangs is enough
    folder = problem(files={"checker.py": text}, yaml=yaml(kind, "checker.py"))
    r = judge(SAYS % "42", folder, timeout=180)
    assert r.verdict == "JE", r
    assert r.code == 3 and r.doc["status"] == "SYSTEM_ERROR"


def test_a_checker_that_does_not_compile_is_our_fault(judge, problem):
    folder = problem(files={"checker.c": "int main(void){"}, yaml=yaml("qduoj", "checker.c"))
    r = judge(SAYS % "42", folder)
    assert r.code in (2, 3) and "does not compile" in r.stderr


@pytest.mark.parametrize("body", ['for(int i=0;i<900000;i++)putchar(57);', 'puts("nan");', 'puts("1e400000");',
                                  'puts("-0");', 'fwrite("\\0\\xff\\n",1,3,stdout);'])
def test_77_output_made_to_break_a_checker_is_wrong(body, judge, problem):
    source, text = KINDS["testlib"]
    folder = problem(files={source: text.replace(".read()", ".read()").replace("open(sys.argv[2])",
                                                                             "open(sys.argv[2], errors='replace')")},
                     yaml=yaml("testlib", source))
    r = judge("#include <stdio.h>\nint main(void){" + body + "}", folder)
    assert r.verdict == "WA", r


def test_82_the_program_cannot_reach_the_report(judge, problem):
    source, text = KINDS["kattis"]
    folder = problem(files={source: text}, yaml=yaml("kattis", source))
    r = judge('#include <stdio.h>\nint main(void){FILE*f=fopen("judgemessage.txt","w");if(f)fputs("forged",f);'
              'f=fopen("score.txt","w");if(f)fputs("100",f);puts("41");}', folder)
    assert r.verdict == "WA" and r.cases[0]["message"] == "looked at it"


def test_partial_points_are_a_share(judge, problem):
    text = "import sys\nsys.stderr.write('points 25')\nsys.exit(7)\n"
    folder = problem(files={"checker.py": text}, tests=(("", "x\n"), ("", "x\n")),
                     yaml="time_limit: 500\nscoring: oi\nchecker: {type: testlib, source: checker.py}\n")
    r = judge(SAYS % "x", folder)
    assert r.doc["score"] == 50 and r.sub == "PC", r


def test_the_special_judge_of_a_task_is_found(tmp_path, problem):
    import json
    from judging import Result, run
    folder = problem(files={"spj.py": KINDS["qduoj"][1]}, yaml="time_limit: 500\n")
    for code, verdict in (("print(42)", "AC"), ("print(41)", "WA")):
        task = {"submit_id": "t", "problem": {"is_spj": True, "time_limit": 700},
                "language": {"slug": "python3"}, "code": code}
        path = tmp_path / "task.json"
        path.write_text(json.dumps(task))
        r = Result(run("judge", "--task", path, "-p", folder, "--json"))
        assert r.verdict == verdict, r
        assert r.result["limits"]["time_ms"] == 2100
