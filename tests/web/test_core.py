"""The pages' pure functions, run by node: hostile text made visible, rows after events."""

import json
import shutil
import subprocess

import pytest

from controller.tribunald import ROOT

NODE = shutil.which("node")

# Reads {module, expression, args} line by line; the expression sees the module's exports `m` and the arguments `a`.
LOOP = """
    import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: process.stdin })) {
        const { module, expression, args } = JSON.parse(line);
        const m = await import(module);
        console.log(JSON.stringify(new Function("m", "a", `return (${expression})`)(m, args)));
    }
"""


@pytest.fixture(scope="module")
def run():
    """run(module, expression, *args): the expression's value. One node for all, which takes long to start."""
    with subprocess.Popen([NODE, "--input-type=module", "-e", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, encoding="utf-8") as node:
        def ask(module, expression, *args):
            node.stdin.write(json.dumps({"module": str(ROOT / "web/src/core" / module), "expression": expression,
                                         "args": args}) + "\n")
            node.stdin.flush()
            answer = node.stdout.readline()
            assert answer, "node ended; what it said is above"
            return json.loads(answer)

        yield ask
        node.stdin.close()


ODD = {
    "escape sequence": ("a\x1b[31mb", [{"text": "a"}, {"odd": "\\x1b"}, {"text": "[31mb"}]),
    "null": ("\0", [{"odd": "\\x00"}]),
    "right to left override": ("x\u202ey", [{"text": "x"}, {"odd": "U+202E"}, {"text": "y"}]),
    "isolates": ("\u2066\u2069", [{"odd": "U+2066U+2069"}]),
    "zero width": ("a\u200bb", [{"text": "a"}, {"odd": "U+200B"}, {"text": "b"}]),
    "carriage return": ("a\rb", [{"text": "a"}, {"odd": "\\x0d"}, {"text": "b"}]),
    "half a surrogate pair": ("\ud800", [{"odd": "U+D800"}]),
    "what people write": ("naïve 你好 🙂\tx\n", [{"text": "naïve 你好 🙂\tx\n"}]),
    "markup": ("<b>&", [{"text": "<b>&"}]),
}


@pytest.mark.parametrize("row", ODD)
def test_odd_characters_are_shown_by_name_and_others_as_they_are(run, row):
    text, expected = ODD[row]
    assert run("visible.js", "m.pieces(a[0])", text) == expected


def test_long_lines_and_texts_are_cut_and_say_by_how_much(run):
    cut = run("visible.js", "m.clip('x'.repeat(1000000) + '\\ny')")
    assert cut["text"] == "x" * 2000 + "…" and cut["cut"] == 1000002 - 2000
    assert run("visible.js", "m.clip('short\\n')") == {"text": "short\n", "cut": 0}


def test_a_name_is_one_short_line(run):
    shown = run("visible.js", "m.plain(a[0], 20)", "a\nb\x1b\u202e" + "c" * 500)
    assert len(shown) <= 20 and "\n" not in shown and "\x1b" not in shown and "\u202e" not in shown


# label: events in order, and what the row then says
EVENTS = {
    "a new one waits": (
        [{"type": "status_change", "status": "PENDING", "timestamp": "2026-01-01T00:00:00Z"}],
        {"status": "PENDING", "created_at": "2026-01-01T00:00:00Z"}),
    "tests come in one by one": (
        [{"type": "progress", "stage": "running", "done": 2, "total": 4,
          "cases": [{"id": 1, "status": "AC"}, {"id": 2, "status": "WA"}]}],
        {"status": "RUNNING", "strip": "AW..", "done": 2}),
    "a new start forgets the tests of the old": (
        [{"type": "progress", "stage": "running", "done": 1, "total": 2, "cases": [{"id": 1, "status": "AC"}]},
         {"type": "status_change", "status": "RUNNING"}], {"status": "RUNNING", "strip": ""}),
    "a late progress does not reopen a verdict": (
        [{"type": "result", "score": 100, "result": {"verdict": "AC", "total_test": 2, "accepted_test": 2}},
         {"type": "progress", "stage": "running", "done": 1, "total": 2}],
        {"status": "FINISHED", "verdict": "AC", "strip": "AA"}),
    "tests without an outcome at the end were not run": (
        [{"type": "progress", "stage": "running", "done": 1, "total": 3, "cases": [{"id": 1, "status": "WA"}]},
         {"type": "result", "result": {"verdict": "WA", "total_test": 3, "accepted_test": 0}}],
        {"verdict": "WA", "strip": "WSS"}),
    "a result brings the tests that nobody heard of": (
        [{"type": "result", "result": {"verdict": "WA", "total_test": 3, "accepted_test": 1, "strip": "AWS"}}],
        {"verdict": "WA", "strip": "AWS"}),
    "one that was sent before we looked does not seem new": (
        [{"type": "status_change", "status": "RUNNING", "timestamp": "2026-01-01T00:00:09Z"}],
        {"status": "RUNNING", "created_at": None}),
    "nor does one that comes back": (
        [{"type": "status_change", "status": "PENDING", "timestamp": "2026-01-01T00:00:09Z", "message": "its judge was lost"}],
        {"status": "PENDING", "created_at": None}),
    "a test out of range is ignored": (
        [{"type": "progress", "stage": "running", "done": 1, "total": 1, "cases": [{"id": 999999, "status": "AC"}]}],
        {"strip": "."}),
}


@pytest.mark.parametrize("row", EVENTS)
def test_a_row_after_its_events(run, row):
    events, expected = EVENTS[row]
    got = run("rows.js", "a[0].reduce((row, e) => m.after(row, {submit_id: 's', ...e}), undefined)", events)
    assert {key: got.get(key) for key in expected} == expected


# label: what the API says; what the row then says
ROWS = {
    "finished": ({"status": "FINISHED", "strip": "AW", "time_limit_ms": 1000, "memory_limit_kb": 65536},
                 {"strip": "AW", "limits": {"time_ms": 1000, "memory_kb": 65536}}),
    "running": ({"status": "RUNNING", "progress": {"stage": "running", "done": 1, "total": 3, "strip": "A.."}},
                {"stage": "running", "done": 1, "total_test": 3, "strip": "A.."}),
    "finished by an older version": ({"status": "FINISHED"}, {"strip": None, "limits": None}),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_api(run, row):
    said, expected = ROWS[row]
    got = run("rows.js", "m.rowOf(a[0])", {"submit_id": "s", **said})
    assert {key: got.get(key) for key in expected} == expected


# label: tests done as heard by events, as read after them; what is shown
READINGS = {"events were quicker": (3, 2, 3), "the reading is newer": (1, 2, 2)}


@pytest.mark.parametrize("row", READINGS)
def test_a_reading_takes_no_tests_away(run, row):
    heard, read, shown = READINGS[row]
    [got] = run("rows.js", "(() => { const r = new m.Rows(3); const s = {submit_id: 's', status: 'RUNNING'};"
                " r.load([{...s, progress: {stage: 'running', done: a[0], total: 4, strip: 'A'.repeat(a[0])}}]);"
                " r.load([{...s, progress: {stage: 'running', done: a[1], total: 4, strip: 'A'.repeat(a[1])}}]);"
                " return r.list(); })()", heard, read)
    assert (got["done"], got["strip"]) == (shown, "A" * shown)


CALM = {"judges": 1, "slots": 2, "busy": 1, "pending": 0, "oldest_s": 0, "dead": 0, "finished_per_minute": 60}
QUEUE = {"name": "judge.normal.heavy.cpp17", "language": "cpp17", "ready": 3, "judges": 1, "paused": False}

# label: the numbers, the queues, what is set aside; the tone, the headline, the troubles
HEALTH = {
    "nothing to do": ({}, [], [], ("ok", "fine", [])),
    "work in hand": ({"pending": 5, "oldest_s": 4}, [QUEUE], [], ("ok", "busy", [])),
    "a minute behind": ({"pending": 90, "oldest_s": 61}, [QUEUE], [], ("warn", "late", [])),
    "an old number of an empty queue": ({"oldest_s": 99}, [], [], ("ok", "fine", [])),
    "no judge": ({"judges": 0, "slots": 0}, [QUEUE | {"judges": 0}], [], ("bad", "stopped", ["nojudge"])),
    "nobody has the language": ({"pending": 3}, [QUEUE | {"judges": 0}], [], ("bad", "stopped", ["unserved"])),
    "nobody has it, and nothing waits": ({}, [QUEUE | {"judges": 0, "ready": 0}], [], ("ok", "fine", [])),
    "paused": ({"pending": 3}, [QUEUE | {"paused": True}], [], ("ok", "busy", ["paused"])),
    "set aside, and a dead letter": ({"dead": 1}, [], [{"kind": "problem", "name": "x"}], ("ok", "fine", ["aside", "dead"])),
}


@pytest.mark.parametrize("row", HEALTH)
def test_health_is_one_word_and_its_reasons(run, row):
    now, queues, asides, expected = HEALTH[row]
    got = run("health.js", "m.health(...a)", CALM | now, queues, asides)
    assert (got["tone"], got["key"], [one["key"] for one in got["list"]]) == expected


def test_how_long_a_submission_waits_yet(run):
    assert run("health.js", "m.waitFor(30, a[0])", CALM) == 30  # sixty a minute
    assert run("health.js", "m.waitFor(0, a[0])", CALM) == 0  # a slot is free
    assert run("health.js", "m.waitFor(5, a[0])", CALM | {"finished_per_minute": 0}) is None


# label: what is set aside, the judges, the queues; why the submission is not started
HELD = {
    "its turn has not come": ([], 1, [QUEUE], ""),
    "no judge": ([], 0, [QUEUE], "nojudge"),
    "its queue is paused": ([], 1, [QUEUE | {"paused": True}], "paused"),
    "nobody has its language": ([], 1, [QUEUE | {"judges": 0}], "unserved"),
    "another language's queue is paused": ([], 1, [QUEUE, QUEUE | {"language": "go", "paused": True}], ""),
    "its problem is set aside": ([{"kind": "problem", "name": "p"}], 1, [QUEUE], "aside"),
    "a language of the problem's name is": ([{"kind": "language", "name": "p"}], 1, [QUEUE], ""),
}


@pytest.mark.parametrize("row", HELD)
def test_why_a_submission_waits(run, row):
    asides, judges, queues, expected = HELD[row]
    assert run("health.js", "m.held({problem: 'p', language: 'cpp17'}, ...a)", CALM | {"judges": judges},
               queues, asides) == expected


def test_a_list_of_rows_has_a_ceiling(run):
    assert run("rows.js", "(() => { const r = new m.Rows(3); for (let i = 0; i < 10; i++)"
               " r.apply({type: 'status_change', submit_id: 's' + i, status: 'PENDING'});"
               " return r.list().map(x => x.submit_id); })()") == ["s9", "s8", "s7"]


# label: what the last drawing took, in ms; how long until the next
DRAWINGS = {"fast": (5, 100), "slow": (200, 800), "very slow": (5000, 2000)}


@pytest.mark.parametrize("row", DRAWINGS)
def test_slow_drawing_is_done_less_often(run, row):
    cost, gap = DRAWINGS[row]
    assert run("frame.js", "m.gapAfter(a[0])", cost) == gap


def test_highlighting_changes_no_character(run):
    source = (ROOT / "examples/problems/a-plus-b/submissions/accepted/sum.cpp").read_text()
    slugs = ["cpp17", "python3", "java17", "rust", "go", "javascript", "pascal", "unknown"]
    again = run("highlight.js", "a[1].map(s => m.tokens(a[0], s).map(t => t.text).join(''))", source, slugs)
    assert again == [source] * len(slugs)
