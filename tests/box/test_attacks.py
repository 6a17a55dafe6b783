"""test_attacks.py - every row of the table, in every mode: honest, attack, honest, attack, honest.

All five runs are made by one process of the tool in one slot. A row promises that the attack ends as
it should, that the honest runs around it are as good as the first, and that nothing is left.
"""

import hashlib
import os
import re

import pytest

import boxtool
import rows
from matrix import SHORT, rows_of_mode

HONEST_LIMITS = {**rows.LIMITS, "time": "1s"}
HONEST_CPU_MS = 60  # it needs 5 to 15; the rest is for a loaded machine, and the better of two counts
# It touches 4 MiB. 300 KiB is what the measure may be off by; the upper end is for page tables and
# the pages of its own program.
HONEST_KIB = (4 * 1024 - 300, 6 * 1024)
OVERSHOOT_US = 5000


class Context:
    def __init__(self, mode, row, shop, folder):
        self.mode, self.row, self.shop = mode, row, shop
        self.mark = boxtool.new_mark()
        self.limits = {**rows.LIMITS, **row.limits}
        self.honest_limits = HONEST_LIMITS
        if "timing" in mode.lacks:
            # A limit that is not what the row is about must not end it on a slow clock.
            self.limits |= {} if "cpu" in row.causes else {"time": "30s"}
            self.limits |= {"wall": "2s" if "wall" in row.causes else "60s"}
            self.honest_limits = {**HONEST_LIMITS, "time": "30s", "wall": "60s"}
        self.time_us = boxtool.plain_number(self.limits["time"])
        self.input_bytes = b"12 30\n"
        self.input_file = folder / "numbers"
        self.input_file.write_bytes(self.input_bytes)
        self.huge_file = folder / "huge"
        with open(self.huge_file, "wb") as f:
            f.truncate(256 << 20)
        # By a careless umask everybody may write it: a descriptor to read is one to write by /proc.
        self.loose_file = folder / "loose"
        self.loose_file.write_bytes(self.input_bytes)
        self.loose_file.chmod(0o666)
        if mode.uid is not None:
            # The most dangerous case: the input belongs to the user whom the program maps to.
            for f in (self.input_file, self.huge_file, self.loose_file):
                os.chown(f, mode.uid, mode.uid)
        self.digest = self.program_digest()
        self.facts = self.input_facts()
        self.best = {}

    def program_digest(self):
        return hashlib.sha256(self.shop.programs["attacker"].read_bytes()).hexdigest()

    def input_facts(self):
        """What the judge's input file is: content, mode, owner, how many names."""
        file = self.loose_file if self.row.stdin == "loose" else self.input_file
        st = file.stat()
        return file.read_bytes(), oct(st.st_mode), st.st_uid, st.st_gid, st.st_nlink

    def best_of(self, what, value):
        self.best[what] = min(value, self.best.get(what, value))

    def honest(self):
        return boxtool.Run(
            ["./a", "honest", self.mark, "a", "bigarray"], str(self.input_file), self.honest_limits
        )

    def attack(self):
        row = self.row
        if row.program == "bigarray":
            argv = ["./bigarray", row.attack, self.mark]
        else:
            argv = ["./a", row.attack, self.mark, *row.args, *self.extra_args()]
        stdin = {"numbers": self.input_file, "huge": self.huge_file, "loose": self.loose_file}.get(row.stdin)
        return boxtool.Run(argv, stdin and str(stdin), self.limits, {}, list(row.get))

    def extra_args(self):
        """Real paths of the host, for the attacks that look for them."""
        if self.row.attack == "read_secrets":
            return [str(self.shop.secret), str(self.shop.programs["attacker"])]
        if self.row.attack == "host_paths":
            return [str(self.shop.top), boxtool.tool_path(), "/tribunal"]
        return []


def complaints_about_attack(o, ctx):
    row, report = ctx.row, o.report
    found = [line for line in o.lines if line.startswith(row.forbid)][:10]
    if report["cause"] not in row.causes:
        found.append(f"cause {report['cause']}, expected {row.causes}")
    if row.exit is not None and report["exit"] != row.exit:
        found.append(f"exit {report['exit']}, expected {row.exit}")
    if row.signal is not None and report["signal"] != row.signal:
        found.append(f"signal {report['signal']}, expected {row.signal}")
    bad = row.check and row.check(o, ctx)
    return found + ([bad] if bad else [])


def complaints_about_honest(o, ctx, first):
    report, found = o.report, o.starting("DIRTY", "ESCAPED")
    if report["cause"] != "exit" or report["exit"] != 0:
        found.append(f"ended by {report['cause']} {report['exit']} {report['signal']}")
    if "sum 42" not in o.lines:
        found.append(f"wrong answer: {o.stdout[-80:]!r}")
    if o is not first:
        ctx.best_of("honest_us", report["cpu_us"])
    if "memory" not in ctx.mode.lacks and not HONEST_KIB[0] <= report["memory_kib"] <= HONEST_KIB[1]:
        found.append(f"memory {report['memory_kib']} KiB, expected {HONEST_KIB}")
    if report["killed"]:
        found.append(f"{report['killed']} killed after an honest run")
    differs = set(o.starting("ENV ")) ^ set(first.starting("ENV "))
    return found + [f"differs from the first run: {line}" for line in sorted(differs)]


# What a busy neighbour can spoil: numbers of a run, never what it reached or left behind.
MEASURED = re.compile(r"used \d+ KiB|memory \d+ KiB|overshoot of|honest runs after|cause (wall|cpu)")


def try_row(row, mode, shop, slot_folder):
    """One time honest, attack, honest, attack, honest in a new slot: what is wrong."""
    ctx = Context(mode, row, shop, slot_folder)
    before = boxtool.Leftovers(slot_folder, ctx.mark, mode.uid)
    puts = {"a": shop.programs["attacker"]}
    if row.program == "bigarray":
        puts["bigarray"] = shop.programs["bigarray"]

    plan = ["honest", "attack", "honest", "attack", "honest"]
    runs = [ctx.honest() if what == "honest" else ctx.attack() for what in plan]
    outcomes = boxtool.run_slot(mode, runs, puts, slot_folder, *row.slot)

    found = []
    for i, (what, o) in enumerate(zip(plan, outcomes, strict=True)):
        if what == "attack":
            bad = complaints_about_attack(o, ctx)
        else:
            bad = complaints_about_honest(o, ctx, outcomes[0])
        if o.report["cgroup"] != mode.cgroup:
            bad.append(f"cgroup {o.report['cgroup']}, expected {mode.cgroup}")
        found += [f"run {i} ({what}): {b}" for b in bad]
    if "timing" not in mode.lacks and ctx.best["honest_us"] > HONEST_CPU_MS * 1000:
        found.append(f"honest runs after the attack took {ctx.best['honest_us']} us and more")
    if ctx.best.get("overshoot_us", 0) > OVERSHOOT_US:
        found.append(f"overshoot of {ctx.best['overshoot_us']} us in the better of two runs")
    found += [f"left: {c}" for c in before.complaints()]
    return found


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda r: r.id)
def test_attack(row, mode, round, shop, slot_folder, skip_row):
    if row.id not in rows_of_mode(mode):
        skip_row(mode, f"{len(rows.ROWS) - len(rows_of_mode(mode))} rows of the table", SHORT)
    for feature in row.needs:
        if feature in mode.lacks:
            skip_row(mode, row.id, mode.lacks[feature])
    for _ in range(3):
        found = try_row(row, mode, shop, slot_folder)
        if not found or not all(MEASURED.search(f) for f in found):
            break
    assert not found, "\n".join(found)
