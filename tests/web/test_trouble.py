"""When things break: a judge dies, the controller restarts, the event stream does not come through."""

from harness import wait_until

from controller.judge import Judge as ScriptedJudge
from programs import HOSTILE, RIGHT, SLOW


def test_a_killed_judge_turns_lost_and_its_task_ends_elsewhere(own, look):
    server = own(problems=("a-plus-b",))
    judges = {name: own.judge(server, name) for name in ("east", "west")}
    made = server.submit(SLOW)["submit_id"]
    first = wait_until(lambda: server.get(f"/api/v1/submissions/{made}").get("worker_id"),
                       what="a judge to take it")
    page = look(server).open("/judges").live()
    page.wait(f"[data-judge='{first}'].connected")
    judges[first].kill9()
    page.wait(f"[data-judge='{first}'].lost", "the judge to be shown as lost")
    page.open(f"/submissions/{made}")
    page.wait(".page-head .chip.v-AC", "the verdict from the other judge", timeout=60)
    done = server.get(f"/api/v1/submissions/{made}")
    assert done["worker_id"] != first and done["crashes"] == 1


def test_a_dead_letter_is_retried_from_its_page(own, look):
    server = own(problems=("a-plus-b",))
    broken = ScriptedJudge(server, "broken").ready()
    made = server.submit(RIGHT)["submit_id"]
    outcome = broken.settle(broken.task(), kind="fault", message="the disk <b>broke</b>",
                            **{"class": "fatal"})
    assert outcome == "dead"
    broken.close()
    own.judge(server, "whole")
    page = look(server).open("/dead-letters").live()
    page.wait_text(f"tr[data-id='{made}'] .error-cell", "the disk <b>broke</b>")
    page.click(f"tr[data-id='{made}'] button")
    page.wait_gone(f"tr[data-id='{made}']")
    done = server.get(f"/api/v1/submissions/{made}?wait=30")
    assert (done["status"], done["verdict"]) == ("FINISHED", "AC")


def test_dead_letters_that_match_are_retried_or_discarded_in_one_call(own, look):
    server = own(problems=("a-plus-b",))
    broken = ScriptedJudge(server, "broken").ready()
    made = {}
    for user in ("anna", "anna", "bert"):
        one = server.submit(RIGHT, user=user)["submit_id"]
        made.setdefault(user, []).append(one)
        outcome = broken.settle(broken.task(), kind="fault", message=f"no {user} here", **{"class": "fatal"})
        assert outcome == "dead"
    broken.close()

    def status(submit_id):
        return server.get(f"/api/v1/submissions/{submit_id}")["status"]

    page = look(server).open("/dead-letters?user=anna").live()
    wait_until(lambda: page.count("tr[data-id]") == 2, what="the two that match")
    page.click(".page-head .actions button:nth-child(1)")
    page.wait_text("dialog", "Retry 2 dead letters?")
    page.yes()
    page.wait_gone("tr[data-id]")
    assert [status(one) for one in made["anna"]] == ["PENDING"] * 2
    assert status(made["bert"][0]) == "DLQ"
    page.open("/dead-letters?q=no+BERT").live()
    page.wait("tr[data-id]")
    page.click(".page-head .actions button:nth-child(2)")
    page.wait_text("dialog", "Discard 1 dead letter?")
    page.yes()
    page.wait_gone("tr[data-id]")
    assert status(made["bert"][0]) == "CANCELLED"


def test_an_open_page_reconnects_after_a_restart_and_catches_up(own, look):
    server = own(problems=("a-plus-b",))
    own.judge(server, "only")
    page = look(server).open("/").live()
    page.mark()
    server.kill9()
    page.wait(".connection.down", "the page to say that nobody answers")
    server.restart()
    page.live()
    made = server.submit(RIGHT)["submit_id"]
    page.wait(f"tr[data-id='{made}'] .chip.v-AC", "the verdict", timeout=60)
    assert not page.reloaded()


def test_a_page_that_is_slow_to_draw_still_shows_that_it_is_live(page):
    """Preact starts a component's effects by a timer; with late timers the stream opens before them."""
    late = page.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
        const soon = window.setTimeout;
        window.setTimeout = (fn, ms = 0, ...more) => soon(fn, ms + 1000, ...more);
        window.requestAnimationFrame = (fn) => window.setTimeout(fn);
    """)
    try:
        page.open("/judges").live()
    finally:
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=late["identifier"])


def test_without_the_event_stream_pages_poll(page, farm):
    page.cdp("Network.enable")
    page.cdp("Network.setBlockedURLs", urls=["*/api/v1/events*"])
    try:
        page.open("/")
        page.wait(".connection.polling", "polling")
        made = farm.submit(RIGHT)["submit_id"]
        page.wait(f"tr[data-id='{made}'] .chip.v-AC", "the verdict", timeout=40)
    finally:
        page.cdp("Network.setBlockedURLs", urls=[])
    page.live()


def test_hostile_output_is_text_and_does_not_break_the_layout(page, farm):
    made = farm.submit(HOSTILE, wait=30, user="<img src=x onerror=window.hacked=1>\u202e")
    assert made["verdict"] == "WA", made
    page.open(f"/submissions/{made['submit_id']}")
    page.wait(".side.got pre")
    shown = page.text(".side.got pre")
    assert "<script>window.hacked=1</script>" in shown
    assert "\\x1b" in shown or "\x1b" not in shown
    page.open(f"/submit?problem=a-plus-b&language=cpp17&from={made['submit_id']}")
    page.wait(".editor.ready")
    page.click("[data-run]")
    page.wait_text(".run-output .odd", "\\x1b", timeout=40)
    assert "U+202E" in " ".join(page.texts(".run-output .odd"))
    for path in ("/", "/submissions", f"/submissions/{made['submit_id']}"):
        page.open(path)
        page.wait(f"tr[data-id='{made['submit_id']}'], .page-head")
        assert page.script("return window.hacked") is None
        assert page.script("return document.documentElement.scrollWidth - innerWidth") <= 0, path
        assert page.script("return document.querySelectorAll('main img, main script').length") == 0
    assert page.complaints() == []
