"""A real browser for tests: Debian's Chromium, headless, driven through chromedriver.

The server of this file is chromedriver; `browser()` opens a Chromium with an empty profile and
gives a Browser, a small W3C WebDriver client. Never uses a person's profile, and never talks to
anything but the pages that a test opens: the flags switch off what Chromium does by itself.
"""

import base64
import contextlib
import http.client
import itertools
import json
import os
import signal

from .proc import Server, find_program, first_line_of

FIX = "dev/setup test"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--window-size=1280,900"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the W3C standard gives to elements


class Chromium(Server):
    name = "chromium"
    end_signal = signal.SIGKILL  # chromedriver does not heed TERM, and has nothing to save

    def __init__(self):
        super().__init__()
        self._profiles = itertools.count(1)

    @classmethod
    def find(cls):
        find_program("chromium", fix=FIX)
        return find_program("chromedriver", fix=FIX)

    @classmethod
    def version(cls):
        return first_line_of(find_program("chromium", fix=FIX), "--version").split()[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def command(self):
        return [self.find(), f"--port={self.port}"]  # --allowed-ips would open it to all interfaces

    def variables_inside(self):
        # A home of its own: Chromium keeps crash dumps and caches there besides the profile.
        return {"HOME": self.folder, "TMPDIR": self.folder, "XDG_CONFIG_HOME": self.folder,
                "XDG_CACHE_HOME": self.folder}

    def ready(self):
        return call(self.port, "GET", "/status", timeout=3)["ready"]

    @contextlib.contextmanager
    def browser(self, flags=()):
        """A new browser window with an empty profile, closed afterwards."""
        profile = os.path.join(self.folder, f"profile-{next(self._profiles)}")
        options = {"binary": find_program("chromium", fix=FIX),
                   "args": [*FLAGS, f"--user-data-dir={profile}", *flags]}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL"}}
        made = call(self.port, "POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        browser = Browser(self.port, made["sessionId"])
        try:
            yield browser
        finally:
            browser.call("DELETE", "")


class WebDriverError(Exception):
    """What chromedriver said went wrong; `kind` is the standard's name for it."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Browser:
    """One browser window. Elements are found by CSS selector."""

    def __init__(self, port, session):
        self._port = port
        self._session = session

    def call(self, method, path, body=None):
        return call(self._port, method, f"/session/{self._session}{path}", body)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    @property
    def address(self):
        return self.call("GET", "/url")

    @property
    def title(self):
        return self.call("GET", "/title")

    def find(self, css):
        """The first element, or WebDriverError of kind "no such element"."""
        found = self.call("POST", "/element", {"using": "css selector", "value": css})
        return Element(self, found[ELEMENT])

    def find_all(self, css):
        found = self.call("POST", "/elements", {"using": "css selector", "value": css})
        return [Element(self, one[ELEMENT]) for one in found]

    def script(self, text, *args):
        """Run JavaScript in the page; `return` gives the result."""
        return self.call("POST", "/execute/sync", {"script": text, "args": list(args)})

    def resize(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path=None):
        """The window as PNG bytes, also written to `path` when one is given."""
        png = base64.b64decode(self.call("GET", "/screenshot"))
        if path is not None:
            with open(path, "wb") as out:
                out.write(png)
        return png

    def console(self):
        """What the page wrote to the console since the last look, errors included."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]


class Element:
    """One element of a page."""

    def __init__(self, browser, ident):
        self._browser = browser
        self._path = f"/element/{ident}"

    @property
    def text(self):
        return self._browser.call("GET", f"{self._path}/text")

    def attribute(self, name):
        return self._browser.call("GET", f"{self._path}/attribute/{name}")

    def click(self):
        self._browser.call("POST", f"{self._path}/click", {})

    def type(self, text):
        self._browser.call("POST", f"{self._path}/value", {"text": text})

    def clear(self):
        self._browser.call("POST", f"{self._path}/clear", {})


def call(port, method, path, body=None, timeout=60):
    """One WebDriver command; returns its value."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as conn:
        payload = None if body is None else json.dumps(body)
        conn.request(method, path, payload, {"Content-Type": "application/json"})
        answer = json.load(conn.getresponse())["value"]
    if isinstance(answer, dict) and "error" in answer:
        raise WebDriverError(answer["error"], answer["message"].split("\n")[0])
    return answer
