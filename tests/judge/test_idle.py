"""A program that waits for nobody is stopped at once, not at the wall limit; one that waits for
somebody at work is not. And what an interactive pair said can be read afterwards."""

import time

import pytest

from judging import EXAMPLES, Result, run

PROLOGUE = "#include <stdio.h>\n#include <unistd.h>\n#include <time.h>\n#include <signal.h>\n"
LONG = "time_limit: 1000\nwall_limit: 60000\n"

# Says when it is asked; first it works, sleeps or waits as its input says.
INTERACTOR = """import sys, time
what = open(sys.argv[1]).read().split()[0]
if what == 'works':
    end = time.process_time() + 1.5
    while time.process_time() < end: pass
print('go', flush=True)
said = sys.stdin.readline().split()
sys.stderr.write('heard ' + ' '.join(said))
sys.exit(0 if said == ['done'] else 1)
"""


def talk(what):
    return {"tests": ((what + "\n", "x\n"),), "files": {"interactor.py": INTERACTOR},
            "yaml": LONG + "interactor: {type: testlib, source: interactor.py}\n"}


@pytest.mark.parametrize("body", ["for(;;)pause();", "raise(SIGSTOP);", "close(0);close(1);sleep(1000);",
                                  "int p[2];pipe(p);char c;read(p[0],&c,1);"],
                         ids=["pause", "stop", "sleep", "pipe"])
def test_who_waits_for_nobody_is_stopped_at_once(body, judge, problem):
    began = time.monotonic()
    r = judge(PROLOGUE + "int main(void){" + body + "}", problem(yaml=LONG), "main.c", "--idle", "600ms")
    assert (r.verdict, r.sub) == ("TLE", "ILE"), r
    assert 500 <= r.cases[0]["wall_ms"] < 5000 and time.monotonic() - began < 15, r


def test_who_works_or_waits_shortly_is_not(judge, problem):
    nap = "for(int i=0;i<20;i++){struct timespec t={0,40000000};nanosleep(&t,0);" \
          "for(volatile long k=0;k<9000000;k++);}"
    r = judge(PROLOGUE + "int main(void){" + nap + 'puts("42");}', problem(yaml=LONG), "main.c", "--idle", "600ms")
    assert r.verdict == "AC", r


def test_81_both_wait_and_are_stopped_at_once(judge, problem):
    r = judge(PROLOGUE + "int main(void){char b[9];fgets(b,9,stdin);fgets(b,9,stdin);}",
              problem(**talk("waits")), "main.c", "--idle", "600ms")
    assert (r.verdict, r.sub) == ("TLE", "ILE"), r
    assert r.cases[0]["wall_ms"] < 10000, r


def test_who_waits_for_an_interactor_at_work_is_not_stopped(judge, problem):
    r = judge(PROLOGUE + 'int main(void){char b[9];fgets(b,9,stdin);puts("done");}',
              problem(**talk("works")), "main.c", "--idle", "600ms")
    assert r.verdict == "AC" and r.cases[0]["wall_ms"] > 1000, r


def test_the_transcript_says_who_said_what_in_order(tmp_path):
    said = tmp_path / "talk.txt"
    source = EXAMPLES / "guess/submissions/accepted"
    r = Result(run("judge", next(source.glob("*.py")), "-p", EXAMPLES / "guess", "--json", "--transcript", said))
    assert r.verdict == "AC", r
    text = said.read_text()
    first = text.split("test ")[1].splitlines()[1:]
    speakers = [line.split()[2] for line in first]
    assert speakers[0] == "program" and "interactor" in speakers, text
    assert speakers == ["program", "interactor"] * (len(speakers) // 2), text
    assert first[-1].split()[3] == "right", text
    times = [float(line.split()[0]) for line in first]
    assert times == sorted(times)


def test_a_transcript_is_bounded_and_plain(tmp_path, judge, problem):
    chatter = 'print("a\\033[2J" * 200000, flush=True)\nprint("done")\n'
    listener = "import sys\nfor line in sys.stdin:\n    if line == 'done\\n': sys.exit(0)\nsys.exit(1)\n"
    folder = problem(files={"interactor.py": listener},
                     yaml="time_limit: 1000\ninteractor: {type: testlib, source: interactor.py}\n")
    said = tmp_path / "talk.txt"
    r = judge(chatter, folder, "main.py", "--transcript", said)
    assert r.verdict == "AC", r
    text = said.read_bytes()
    assert 60_000 < len(text) < 67_000 and b"not written down" in text
    assert b"\033" not in text and b"a\\x1b[2J" in text


def test_with_a_transcript_early_ends_are_the_same(tmp_path, judge, problem):
    said = tmp_path / "talk.txt"
    for body, verdict in (("return 0;", "WA"), ('puts("x");for(;;)puts("y");', "WA")):
        folder = problem(**talk("waits"), name=f"p{len(body)}")
        r = judge(PROLOGUE + "int main(void){" + body + "}", folder, "main.c", "--transcript", said)
        assert r.verdict == verdict, r
