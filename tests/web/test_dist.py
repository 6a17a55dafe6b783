"""What is built: small enough, nothing missing, nothing from elsewhere."""

import gzip
import json
import re

from controller.tribunald import BUILD, ROOT

WEB = ROOT / "web"
DIST = BUILD / "web/dist"
LIMIT = 100 * 1024


def words(lang):
    return json.loads((WEB / f"src/lang/{lang}.json").read_text())


def sources():
    return [p for p in (WEB / "src").rglob("*.js*") if p.suffix != ".json"]


def gzipped(path):
    return len(gzip.compress(path.read_bytes(), 9))


def test_everything_but_the_editor_is_under_100_kb_gzipped():
    files = [p for p in DIST.rglob("*") if p.is_file() and not p.name.startswith("editor-")]
    total = sum(gzipped(p) for p in files)
    assert len(files) >= 4, "the pages are not in this build: node and npm are needed"
    assert total < LIMIT, {p.name: gzipped(p) for p in files}


def test_editor_is_a_file_of_its_own_that_only_the_submit_page_asks_for():
    [editor] = DIST.glob("assets/editor-*.js")
    assert editor.name not in (DIST / "index.html").read_text()
    assert gzipped(editor) > 50 * 1024  # CodeMirror is in there and nowhere else


def test_both_languages_have_the_same_words_and_none_is_empty():
    en, zh = words("en"), words("zh")
    assert set(en) == set(zh)
    assert all(text.strip() for text in [*en.values(), *zh.values()])


def test_both_languages_fill_in_the_same_names():
    en, zh = words("en"), words("zh")
    names = {key: (set(re.findall(r"\{\w+\}", en[key])), set(re.findall(r"\{\w+\}", zh[key])))
             for key in en}
    assert {key: both for key, both in names.items() if both[0] != both[1]} == {}


def test_every_word_that_the_pages_ask_for_exists_and_every_word_is_asked_for():
    text = "\n".join(p.read_text() for p in sources())
    asked = set(re.findall(r'"([a-z]\w*(?:\.[\w.]+)?)"', text))
    built = [re.escape(part).replace(r"\$\{\}", r"[\w.]+") for part in
             (re.sub(r"\$\{[^}]+\}", "${}", p) for p in re.findall(r"(?:\bt|has)\(`([^`]+)`", text))]
    known = set(words("en"))
    missing = {key for key in re.findall(r'\bt\("([^"]+)"', text)} - known
    unused = {key for key in known - asked if key.removesuffix(".one") not in asked
              and not any(re.fullmatch(pattern, key) for pattern in built)}
    assert (missing, unused) == (set(), set())


def test_lock_file_names_no_registry_and_every_package_by_its_hash():
    lock = json.loads((WEB / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if "integrity" not in one] == []


def test_index_page_has_nothing_inline():
    page = (DIST / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\son\w+=|\sstyle=", page) == []


def test_no_page_sets_markup_from_text():
    banned = re.compile(r"dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")
    assert [p.name for p in sources() if banned.search(p.read_text())] == []


def test_files_stay_short():
    assert {p.name: n for p in sources() if (n := len(p.read_text().splitlines())) > 500} == {}


def test_pages_call_only_what_every_integrator_can_call():
    """Each address in the sources is one of openapi.json's."""
    known = {re.sub(r"\{\w+\}", "{}", path) for path in
             json.loads((ROOT / "src/controller/openapi.json").read_text())["paths"]}
    call = re.compile(r"(?:get|getText|post|putFile|useApi)\((?:[\w.() ?]+ \? )?([`\"])(/[^`\"]*)\1")
    asked = set()
    for path in sources():
        for _, address in call.findall(path.read_text()):
            plain = re.sub(r"\$\{(?:seg\([^}]+\)|verb)\}", "{}", address)
            asked.add("/api/v1" + re.sub(r"\$\{.*|\?.*", "", plain))
    assert len(asked) > 15
    assert {one for one in asked if one not in known and not any(
        re.fullmatch(re.escape(one).replace(r"\{\}", "[^/]+"), path) for path in known)} == set()
