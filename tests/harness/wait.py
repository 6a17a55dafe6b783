"""Waiting for a condition with a deadline: the only place of the tests that sleeps.

Never waits without an end, and never fails without saying what it waited for.
"""

import time


def wait_until(cond, timeout=10.0, what="the condition", every=0.02):
    """Call `cond` until it returns something true, and return that.

    Fails after `timeout` seconds. An exception of `cond` counts as "not yet"; the last one is
    named in the failure. `what` completes the sentence "waited 5 s for ...".
    """
    deadline = time.monotonic() + timeout
    last = ""
    while True:
        try:
            value = cond()
            if value:
                return value
            last = ""
        except Stop as stop:
            raise AssertionError(f"gave up on {what}: {stop}") from None
        except Exception as err:  # noqa: BLE001 - whatever it is, it is "not yet"
            last = f"; last: {type(err).__name__}: {err}"
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}{last}")
        time.sleep(every)
        every = min(every * 1.3, 0.25)


class Stop(Exception):
    """Raised by a condition that can never come true any more: ends the wait at once."""
