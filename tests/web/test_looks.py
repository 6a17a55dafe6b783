"""Every page, wide and narrow: screenshots, accessibility, no sideways scrolling.

In the light theme; with TRIBUNAL_SOAK=1 also in the dark one, with pictures of phones and a larger crowd.
"""

import os

import pytest

from controller.tribunald import ROOT
from harness import wait_until

from programs import BROKEN, RIGHT, WRONG

SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"
AXE = (ROOT / "web/node_modules/axe-core/axe.min.js")

# name: the address and what must be there before it is looked at
PAGES = {
    "live": ("/", "tr.row .strip i.v-AC"),
    "submissions": ("/submissions", "tr.row"),
    "submission": ("/submissions/{wrong}", ".side.got mark"),
    "submit": ("/submit?problem=a-plus-b&language=cpp17", ".editor.ready"),
    "queues": ("/queues", "tr[data-queue]"),
    "dead-letters": ("/dead-letters", ".empty, tr[data-id]"),
    "judges": ("/judges", "[data-judge]"),
    "problems": ("/problems", "tr[data-problem]"),
    "problem": ("/problems/a-plus-b", "#versions-title"),
    "login": ("/login", "form.login"),
}


# Others to fill the lists with, from the examples: problem, file, who.
CROWD = [("a-plus-b", "accepted/sum.cpp", "alice"), ("stairs", None, "bob"), ("spread", None, "张伟"),
         ("squares", None, "dora"), ("pair", None, "team-17"), ("a-plus-b", None, "emil")]


def examples(problem):
    """The programs that come with a problem, in languages that start fast."""
    folder = ROOT / "examples/problems" / problem / "submissions"
    return sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".cpp"))


@pytest.fixture(scope="module")
def ids(farm):
    """Submissions to look at: three by name, and a crowd around them."""
    for problem, only, user in CROWD:
        for path in examples(problem)[:4 if SOAK else 1] if only is None else [
                ROOT / "examples/problems" / problem / "submissions" / only]:
            farm.submit(path.read_text(), problem=problem, user=user,
                        language="python3" if path.suffix == ".py" else "cpp17")
    return {name: farm.submit(code, wait=60, user=user)["submit_id"]
            for name, code, user in (("right", RIGHT, "alice"), ("broken", BROKEN, "bob"),
                                     ("wrong", WRONG, "carol"))}


def serious(page):
    """axe-core's findings that keep somebody from using the page."""
    page.browser.call("POST", "/timeouts", {"script": 30000})
    page.script(AXE.read_text())
    found = page.browser.call("POST", "/execute/async", {"args": [], "script": """
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then(
            r => done(r.violations.filter(v => ['serious', 'critical'].includes(v.impact))
                .map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.failureSummary || '').slice(0, 200))])),
            e => done([['axe failed', [String(e)]]]));
    """})
    return found


def see(page, name, ids):
    path, ready = PAGES[name]
    page.open(path.format(**ids))
    page.wait(ready)
    wait_until(lambda: not page.count(".skeleton"), what="everything to be loaded")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"] if SOAK else ["light"])
def test_page_is_accessible_and_complains_about_nothing(page, ids, name, theme):
    page.enter("admin", theme=theme)
    see(page, name, ids)
    page.shot(f"{name}-{theme}")
    assert serious(page) == []
    assert page.complaints() == []


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_phone(page, ids, name):
    page.size(390, 844)
    page.enter("admin")
    see(page, name, ids)
    if SOAK:
        page.shot(f"{name}-phone")
    over = page.script("return document.documentElement.scrollWidth - innerWidth")
    assert over <= 0, f"{name} is {over} px too wide"


def test_chinese_page_is_chinese(page, ids):
    page.enter("admin", language="zh")
    see(page, "submission", ids)
    page.shot("submission-zh")
    assert page.text(".page-head .chip") == "答案错误"
