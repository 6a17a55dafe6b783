"""What people do on the pages, in a real browser against a real controller with real judges."""

import zipfile

from harness import wait_until

from programs import BROKEN, RIGHT, SLOW, WRONG


def judged(server, code, **more):
    """Submit and wait for the verdict."""
    made = server.submit(code, wait=30, **more)
    assert made["status"] == "FINISHED", made
    return made["submit_id"]


# --- contestants


def test_submitting_shows_the_verdict_arrive_without_a_reload(page):
    page.open("/submit?problem=a-plus-b&language=cpp17").live()
    page.wait(".editor.ready")
    page.mark()
    page.click("[data-submit]")
    page.wait(".outcome .chip")
    page.wait(".outcome .chip.v-AC", "the verdict", timeout=40)
    # The verdict comes by event; tests whose progress was not heard come with the reading after it.
    wait_until(lambda: page.count(".outcome .strip i.v-AC") == 20, what="every test")
    assert not page.reloaded()
    page.wait_text("[role=status]", "Accepted")  # and a screen reader hears it


def test_a_wrong_answer_shows_its_first_difference_side_by_side(page, farm):
    page.open(f"/submissions/{judged(farm, WRONG)}")
    page.wait(".side.got mark")
    assert page.text(".page-head .chip") == "Wrong answer"
    assert page.text(".side.expected pre").startswith("3")
    assert page.text(".side.got pre").startswith("-1")
    assert "line 1, column 1" in page.text(".diff")


def test_a_compile_error_shows_what_the_compiler_says(page, farm):
    page.open(f"/submissions/{judged(farm, BROKEN)}")
    page.wait_text(".text pre", "expected primary-expression")


def test_a_submission_page_fills_in_while_it_is_judged(page, farm):
    made = farm.submit(SLOW)
    page.open(f"/submissions/{made['submit_id']}").live()
    page.wait(".head-strip .strip i.v-AC")
    height = page.script("return document.querySelector('.head-strip').offsetHeight")
    page.mark()
    page.wait(".page-head .chip.v-AC", timeout=40)
    assert page.count(".tests-table tbody tr") == 20
    assert page.script("return document.querySelector('.head-strip').offsetHeight") == height
    assert not page.reloaded()


def test_a_program_runs_on_input_of_ones_own(page):
    page.open("/submit?problem=a-plus-b&language=python3")
    page.wait(".editor.ready")
    page.script("const box = document.querySelector('#run-title').closest('section').querySelector('textarea');"
                "box.value = '20 22\\n'; box.dispatchEvent(new Event('input', {bubbles: true}))")
    page.click("[data-run]")
    page.wait_text(".run-output pre", "42", timeout=40)


# --- lists


def test_filters_are_the_address_and_the_address_is_the_filters(page, farm):
    judged(farm, RIGHT, user="anna")
    judged(farm, WRONG, user="anna")
    page.open("/submissions?user=anna")
    page.wait(".rows tr.row")
    assert set(page.texts(".rows .chip")) == {"Accepted", "Wrong answer"}
    page.browser.find(".toggle .v-WA").click()
    wait_until(lambda: set(page.texts(".rows .chip")) == {"Wrong answer"}, what="the filter")
    assert page.where == "/submissions?user=anna&verdict=WA"
    page.browser.call("POST", "/refresh", {})
    page.wait(".rows tr.row")
    assert set(page.texts(".rows .chip")) == {"Wrong answer"}


def test_the_list_is_walked_with_j_and_k_and_opened_with_enter(page, farm):
    ids = [judged(farm, RIGHT, user="kay") for _ in range(2)][::-1]
    page.open("/submissions?user=kay")
    wait_until(lambda: page.count(".rows tr.row") == 2, what="the list")
    page.press("j", "j", "k")
    assert page.script("return document.activeElement.closest('tr').dataset.id") == ids[0]
    page.press("j", "\ue007")
    wait_until(lambda: page.where == f"/submissions/{ids[1]}", what="the submission")
    page.open("/submissions")
    page.wait("[data-search]")
    page.press("/")
    assert page.script("return document.activeElement.name") == "problem"


def test_live_page_shows_new_submissions_and_numbers_by_themselves(page, farm):
    page.open("/").live()
    page.mark()
    made = farm.submit(RIGHT)["submit_id"]
    page.wait(f"tr[data-id='{made}'] .chip.v-AC", "the new row", timeout=40)
    page.wait(f"tr[data-id='{made}'] .strip i.v-AC")
    page.wait(".chart canvas")
    assert page.text(".tile:last-child b").endswith("/ 4")
    assert not page.reloaded()


def test_nothing_moves_under_the_pointer(page, farm):
    judged(farm, RIGHT)
    page.open("/").live()
    page.wait("tr.row")
    first = page.script("return document.querySelector('tr.row').dataset.id")
    page.script("document.querySelector('.feed').dispatchEvent(new MouseEvent('mouseenter'))")
    farm.submit(RIGHT)
    page.wait_text(".pill", "1 new")
    assert page.script("return document.querySelector('tr.row').dataset.id") == first
    page.click(".pill")
    wait_until(lambda: page.script("return document.querySelector('tr.row').dataset.id") != first,
               what="the new row")


# --- operators


def test_a_submission_is_judged_again_and_the_old_result_is_kept(page, farm):
    page.open(f"/submissions/{judged(farm, RIGHT)}").live()
    page.click(".actions button")
    page.yes()
    page.wait("#history-title", "the history", timeout=40)
    page.wait(".page-head .chip.v-AC", timeout=40)


def test_a_queue_is_paused_and_resumed(page, farm):
    judged(farm, RIGHT)
    page.open("/queues").live()
    name = next(one["name"] for one in farm.get("/api/v1/queues")["queues"]
                if (one["band"], one["language"]) == ("normal", "cpp17"))
    row = f"tr[data-queue='{name}']"
    page.click(f"{row} button")
    page.yes()
    page.wait(f"{row}.paused", "the queue to be shown as paused")
    try:
        made = farm.submit(RIGHT)["submit_id"]
        page.wait_text(f"{row} .depth", "1")
        assert farm.get(f"/api/v1/submissions/{made}")["status"] == "PENDING"
    finally:
        page.click(f"{row} button")
    page.wait_gone(f"{row}.paused")
    done = farm.get(f"/api/v1/submissions/{made}?wait=30")
    assert (done["status"], done["verdict"]) == ("FINISHED", "AC")


def test_a_judge_is_drained_and_resumed(page, farm):
    page.open("/judges").live()
    card = "[data-judge='judge-1']"
    page.click(f"{card} button")
    page.yes()
    page.wait(f"{card}.draining")
    assert farm.judges[0].state() == "draining"
    page.click(f"{card} header button")
    page.wait_gone(f"{card}.draining")
    assert farm.judges[0].state() == "connected"


def test_an_uploaded_problem_is_checked_and_can_be_judged(page, farm, tmp_path):
    def archive(name, files):
        with zipfile.ZipFile(tmp_path / name, "w") as out:
            for path, text in files.items():
                out.writestr(path, text)
        return str(tmp_path / name)

    page.open("/problems")
    page.wait("input[type=file]")
    box = page.browser.find("input[type=file]")
    box.type(archive("half.zip", {"1.in": "1\n"}))
    page.wait(".findings .state.bad", "the refusal")
    box.type(archive("twice.zip", {"1.in": "4\n", "1.out": "8\n"}))
    page.wait(".findings .state.ok", "the upload")
    page.wait("tr[data-problem='twice'] .state.ok")
    code = "#include <cstdio>\nint main() { int n; std::scanf(\"%d\", &n); std::printf(\"%d\\n\", 2 * n); }\n"
    assert farm.submit(code, wait=30, problem="twice")["verdict"] == "AC"
    page.open("/problems/twice")
    page.wait_text("#versions-title", "Versions")


def test_what_the_checks_found_is_shown_at_the_upload_and_at_the_problem(page, farm, tmp_path):
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as out:
        out.writestr("problem.yaml", "name: Notes\n")
        out.writestr("data/secret/1.in", "1\n")
        out.writestr("data/secret/1.ans", "1\n")
    page.open("/problems")
    page.wait("input[type=file]")
    page.browser.find("input[type=file]").type(str(tmp_path / "notes.zip"))
    page.wait_text(".findings .found", "no time limit is stated")
    page.open("/problems/notes")
    page.wait_text(".found", "no time limit is stated")


def test_upload_refuses_what_is_no_zip(page, farm, tmp_path):
    (tmp_path / "junk.zip").write_bytes(b"not a zip")
    page.open("/problems")
    page.wait("input[type=file]")
    page.browser.find("input[type=file]").type(str(tmp_path / "junk.zip"))
    page.wait(".findings .state.bad")


# --- whoever looks


def test_language_switches_at_once_and_is_remembered(page):
    page.open("/submissions")
    page.wait("table, .empty")
    page.click("#language")
    page.wait_text("h1", "提交记录")
    page.browser.call("POST", "/refresh", {})
    page.wait_text("h1", "提交记录")
    assert page.script("return document.documentElement.lang") == "zh-CN"


def test_theme_switches_and_is_remembered(page):
    page.open("/problems")
    page.click("#theme")
    page.click("#theme")
    dark = page.script("return getComputedStyle(document.body).backgroundColor")
    page.browser.call("POST", "/refresh", {})
    page.wait("main > *")
    assert page.script("return getComputedStyle(document.body).backgroundColor") == dark
    assert page.script("return document.documentElement.dataset.theme") == "dark"


def test_without_a_key_one_is_asked_for_and_a_wrong_one_is_refused(look, farm):
    page = look(farm, role=None).open("/judges")
    page.wait("form.login")
    box = page.browser.find("input[name=key]")
    box.type("tk_nobody_00")
    page.click(".login button")
    page.wait_text(".login [role=alert]", "not known")
    box.clear()
    box.type(farm.keys["read"])
    page.click(".login button")
    page.wait("[data-judge='judge-1']")


def test_the_address_that_serve_prints_lets_one_in_and_forgets_the_key(look, farm):
    page = look(farm, role=None).open(f"/judges#key={farm.keys['read']}")
    page.wait("[data-judge='judge-1']")
    assert page.where == "/judges"
    page.browser.call("POST", "/refresh", {})
    page.wait("[data-judge='judge-1']")


def test_live_page_says_in_words_how_it_is_and_what_is_wrong(page, farm):
    judged(farm, RIGHT)
    page.open("/").live()
    page.wait(".health.ok")
    queue = "judge.normal.heavy.cpp17"
    farm.ask("POST", f"/api/v1/queues/{queue}/pause")
    try:
        page.wait_text(".health a", f"The queue {queue} is paused")
        made = farm.submit(RIGHT)["submit_id"]
        page.open(f"/submissions/{made}")
        page.wait_text(".why", "Its queue is paused")
    finally:
        farm.ask("POST", f"/api/v1/queues/{queue}/resume")
    page.wait(".page-head .chip.v-AC", timeout=40)


def test_what_a_role_may_not_do_is_not_offered_and_is_refused(look, farm):
    page = look(farm, role="read").open("/judges")
    page.wait("[data-judge='judge-1']")
    assert page.count("[data-judge] header button") == 0
    assert farm.ask("POST", "/api/v1/judges/judge-1/drain", key="read").status == 403
    page = look(farm, role="submit").open("/")
    page.wait(".editor.ready")
    assert page.texts(".top nav a") == ["Submit", "Problems"]
    page.click("[data-submit]")
    page.wait(".outcome .chip.v-AC", "the verdict, by polling", timeout=40)
    assert farm.ask("GET", "/api/v1/submissions", key="submit").status == 403
