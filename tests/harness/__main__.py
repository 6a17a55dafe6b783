"""The harness as a command, for tests that are not written in Python.

    python3 -m harness up postgres mysql -- CMD args...
        start the servers, run CMD with their addresses in its environment, stop them,
        exit with CMD's code (77, "skipped", when a server cannot be had)
    python3 -m harness check [--json]
        what this machine has, and the command that gets what is missing

Never leaves a server behind, whatever happens to CMD or to this process.
"""

import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys

from . import SERVERS
from .proc import MARK, RUN_ID, Unavailable

SKIPPED = 77  # meson and automake read it as "skipped"


def main():
    parser = argparse.ArgumentParser(prog="python3 -m harness",
                                     description="Real servers for tests.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start servers, run a command, stop them")
    up.add_argument("server", nargs="+", choices=sorted(SERVERS))
    check = verbs.add_parser("check", help="say which servers this machine has")
    check.add_argument("--json", action="store_true")

    argv, command = sys.argv[1:], []
    if "--" in argv:
        cut = argv.index("--")
        argv, command = argv[:cut], argv[cut + 1:]
    args = parser.parse_args(argv)
    if args.verb == "check":
        return run_check(args.json)
    if not command:
        parser.error("nothing to run: put the command after --")
    return run_up(list(dict.fromkeys(args.server)), command)


def run_up(names, command):
    # A signal that ends us goes through the same clean-up as Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    servers = [SERVERS[name]() for name in names]
    try:
        for server in servers:
            server.find()
    except Unavailable as err:
        must = os.environ.get("TRIBUNAL_MUST_WORK") == "1"
        print(f"harness: {'FAILED' if must else 'SKIPPED'}: {err}", file=sys.stderr)
        return 1 if must else SKIPPED
    try:
        in_parallel(lambda server: server.start(), servers)
        env = {**os.environ, MARK: RUN_ID}
        for server in servers:
            env.update(server.variables())
        return run_command(command, env)
    except (AssertionError, RuntimeError) as err:
        print(f"harness: {err}", file=sys.stderr)
        return 1
    finally:
        in_parallel(lambda server: server.stop(), servers)


def in_parallel(do, servers):
    """Every server is started or stopped, then the first failure is raised."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for result in [pool.submit(do, server) for server in servers]:
            result.result()


def run_command(command, env):
    """Run it in our terminal's foreground; it gets Ctrl-C itself, we wait for what it does."""
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as err:
        print(f"harness: cannot run {command[0]}: {err.strerror}", file=sys.stderr)
        return 127
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        rc = child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    return rc if rc >= 0 else 128 - rc


def run_check(as_json):
    rows = []
    for name, cls in SERVERS.items():
        row = {"server": name, "version": None, "available": False, "reason": None, "fix": None}
        try:
            cls.find()
            row["version"] = cls.version()
            row["available"] = True
        except Unavailable as err:
            row["reason"], row["fix"] = err.reason, err.fix
        rows.append(row)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print_table(rows)
    return 0 if all(row["available"] for row in rows) else 1


def print_table(rows):
    cells = [("server", "version", "state", "to fix")]
    for row in rows:
        state = "available" if row["available"] else row["reason"]
        cells.append((row["server"], row["version"] or "-", state, row["fix"] or ""))
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
