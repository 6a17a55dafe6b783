"""The pages in a real browser, as a person uses them: look, click, type, press keys."""

import os
import pathlib

from controller.tribunald import BUILD
from harness import wait_until

SHOTS = BUILD / "screenshots"
TIMEOUT = 20.0


class Page:
    """One window on the pages of one controller."""

    def __init__(self, browser, server, role="admin"):
        self.browser, self.server = browser, server
        self.size(1280, 900)
        self.enter(role)

    def enter(self, role, **prefs):
        """Log in by what the login page would have stored, so that each test need not type."""
        self.browser.open(self.server.url + "/icon.svg")
        key = self.server.keys[role] if role else ""
        self.browser.script("""
            sessionStorage.clear(); localStorage.clear();
            if (arguments[0]) sessionStorage.setItem('tribunal.key', arguments[0]);
            localStorage.setItem('tribunal.language', 'en');
            for (const [k, v] of Object.entries(arguments[1])) localStorage.setItem('tribunal.' + k, v);
        """, key, prefs)

    def open(self, path):
        self.browser.open(self.server.url + path)
        self.wait("main > *", "the page to be drawn")
        return self

    def cdp(self, command, **params):
        return self.browser.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def script(self, text, *args):
        return self.browser.script(text, *args)

    def texts(self, css):
        """The texts of all that match, in one look: elements may change between two."""
        return self.script("return [...document.querySelectorAll(arguments[0])]"
                           ".map(e => e.innerText.trim())", css)

    def text(self, css):
        return (self.texts(css) or [""])[0]

    def count(self, css):
        return self.script("return document.querySelectorAll(arguments[0]).length", css)

    def wait(self, css, what=None, timeout=TIMEOUT):
        return wait_until(lambda: self.count(css), timeout, what or f"{css} on {self.where}")

    def wait_text(self, css, part, timeout=TIMEOUT):
        try:
            return wait_until(lambda: any(part in one for one in self.texts(css)), timeout,
                              f"'{part}' in {css}")
        except AssertionError as err:
            raise AssertionError(f"{err}; there is {self.texts(css)[:5]}") from None

    def wait_gone(self, css, timeout=TIMEOUT):
        wait_until(lambda: not self.count(css), timeout, f"{css} to go")

    def click(self, css):
        self.wait(css)
        self.browser.find(css).click()

    def yes(self):
        """Confirm what the page asks."""
        self.click("dialog [data-yes]")

    def press(self, *keys):
        """Keys as a person presses them, one after the other."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.browser.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys",
                                                            "actions": actions}]})

    @property
    def where(self):
        return self.browser.address.removeprefix(self.server.url)

    def mark(self):
        """Leave a mark that a reload would wipe out."""
        self.script("window.notReloaded = true")

    def reloaded(self):
        return not self.script("return window.notReloaded === true")

    def live(self):
        """Wait until events arrive."""
        self.wait(".connection.live", "the event stream")
        return self

    def shot(self, name):
        pathlib.Path(SHOTS).mkdir(parents=True, exist_ok=True)
        self.browser.screenshot(os.path.join(SHOTS, f"{name}.png"))

    def complaints(self):
        """What the browser complained about since the last look: scripts, styles, refused requests."""
        return [one for one in self.browser.console() if "Failed to load resource" not in one]
