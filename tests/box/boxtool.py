"""boxtool.py - drives tribunal-box from the tests: ways to start it, runs in one slot, what is left.

A Mode is a way to start the tool (as root, with a user namespace, as a plain user, with this or that
cgroup layout). A slot is one process of the tool that makes several runs one after another in the same
container; run_slot() returns one Outcome for each.
"""

import ctypes
import dataclasses
import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import uuid
from pathlib import Path

PLAIN_USER = 64117  # nobody else's uid: a process of it after a test is one of ours
slot_program = None  # slot.c, set by conftest
TOOL_DEADLINE_S = float(os.environ.get("TRIBUNAL_BOX_DEADLINE", "30"))


@dataclasses.dataclass(frozen=True)
class Mode:
    name: str
    options: tuple = ()
    prefix: tuple = ()
    uid: int | None = None
    cgroup: str = "hybrid"
    lacks: dict = dataclasses.field(default_factory=dict, hash=False)  # feature -> why not


NO_CGROUP = {
    "memory": "no memory cgroup: a limit holds for each process alone",
    "charged": "no memory cgroup: kernel objects and files in memory belong to nobody",
    "cpu-tree": "no CPU cgroup: time of children counts when they end, the deadline is less exact",
}

HIDE_UNIFIED = ("unshare", "-m", "sh", "-c", 'umount /sys/fs/cgroup/unified && exec "$@"', "sh")

MODES = {
    m.name: m
    for m in (
        Mode("root", ("--userns", "never"), cgroup="hybrid"),
        Mode("userns", ("--userns", "always"), cgroup="hybrid"),
        Mode("v1", ("--cgroup", "auto"), HIDE_UNIFIED, cgroup="v1"),
        Mode("none", ("--cgroup", "none"), cgroup="none", lacks=NO_CGROUP),
        Mode("plain", (), (), PLAIN_USER, cgroup="none", lacks=NO_CGROUP),
        Mode(
            "v2",
            ("--cgroup", "v2"),
            cgroup="v2",
            lacks={
                "timing": "user-mode Linux has no clock to rely on",
                "terabyte": "user-mode Linux has no address space of a terabyte",
            },
        ),
    )
}


@dataclasses.dataclass
class Run:
    """One command in the slot. Limits are words of the command line."""

    argv: list
    stdin: str | None = None
    limits: dict = dataclasses.field(default_factory=dict)
    env: dict = dataclasses.field(default_factory=dict)
    get: list = dataclasses.field(default_factory=list)  # names in the work folder


@dataclasses.dataclass
class Outcome:
    report: dict
    stdout: bytes
    stderr: bytes
    got: dict  # name -> bytes, or None when it did not come out

    @property
    def lines(self):
        return self.stdout.decode("utf-8", "replace").splitlines()

    def starting(self, *kinds):
        return [line for line in self.lines if line.startswith(kinds)]


class ToolFailed(AssertionError):
    pass


def tool_path():
    path = os.environ.get("TRIBUNAL_BOX") or shutil.which("tribunal-box")
    return path if path and os.access(path, os.X_OK) else None


def call(mode, args, *, cwd, env=None, deadline_s=TOOL_DEADLINE_S, program=None, **popen):
    """Run the tool to its end. It has to end by itself: a tool that hangs is a failure."""
    argv = [*mode.prefix, *map(str, program or [tool_path()]), *args]
    if mode.uid is not None:
        popen.update(user=mode.uid, group=mode.uid, extra_groups=[])
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    environ = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TMPDIR": str(cwd), **(env or {})}
    proc = subprocess.Popen(argv, cwd=cwd, env=environ, start_new_session=True, **popen)
    try:
        out, err = proc.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        proc.wait()
        raise ToolFailed(f"the tool did not end within {deadline_s} s: {argv}") from None
    return proc.returncode, out, err


# How far above the limit a run that was ended for memory may be told: on v1 and hybrid the limit has
# room for what waits to be given back when the run begins (src/box/cgroup_v1.c: 1.5 MiB of kernel
# memory, the slack of a group at rest, a step of 256 KiB), and the program may get it.
MEMORY_ROOM_KIB = 1536 + 512 + 320 * os.cpu_count() + 256


def wait_for(condition, complaint, allowed_s=10):
    """What the condition gives, as soon as that is something."""
    until = time.monotonic() + allowed_s
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.002)
    raise AssertionError(complaint)


def limit_options(limits):
    return [word for key, value in limits.items() for word in (f"--{key}", str(value))]


# ---------------------------------------------------------------- what is left

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Whatever the tool leaves running becomes our child, so it cannot hide."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def have_own_mounts():
    """What others on this machine mount is not seen from here on, what the tool leaves mounted is. Only
    root can; a plain user's tool cannot mount anything outside."""
    if os.geteuid() == 0 and _libc.unshare(CLONE_NEWNS) == 0:
        _libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


def _stat(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    rest = text.rpartition(")")[2].split()
    return rest[0], int(rest[1])  # state, parent


class Pids:
    """Who was there already: to read about some hundred strangers after each row took longer than most
    rows. Numbers that came round again say nothing, then everybody is new."""

    def __init__(self):
        self.last, self.pids = self._last(), self._all()

    @staticmethod
    def _all():
        return set(filter(str.isdigit, os.listdir("/proc")))

    @staticmethod
    def _last():
        return int(Path("/proc/loadavg").read_text().split()[4])

    def new(self):
        return self._all() - (self.pids if self._last() >= self.last else set())


def _processes_with(mark, uid, pids):
    me, found = os.getpid(), []
    for pid in pids:
        if int(pid) == me:
            continue
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            environ = Path(f"/proc/{pid}/environ").read_bytes()
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            continue
        state = _stat(pid)
        if not state or state[0] == "Z":
            continue
        ours = mark.encode() in words + environ or state[1] == me or (uid and owner == uid)
        if ours:
            found.append(f"process {pid} {words[:80]!r}")
    return found


def _reap_orphans():
    """Zombies that were handed to us are done; only living ones count."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def _cgroup_folders():
    """Without the folder that all boxes of a host share as their parent, which stays."""
    base = "/sys/fs/cgroup"
    return {d for d, _, _ in os.walk(base) if os.path.basename(d) != "tribunal-box"}


def _slot_is_free(number):
    """Whether no tool on this machine holds the slot: then its groups belong to nobody."""
    try:
        fd = os.open(f"/run/tribunal-box/slot-{number}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def _is_ours_and_left(folder):
    """Others may run boxes here too: theirs are held by a lock, what we left is not."""
    slot = re.search(r"/tribunal-(\d+)-\d+", folder)
    return bool(slot) and _slot_is_free(slot[1]) and os.path.isdir(folder)


BOX_UIDS = 1_900_000_000  # where root's boxes have their uids
MARK_KEY = str(0x7472)  # the attacker's


def _sysv_objects():
    """Those of our attackers; databases beside us have some too."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        for line in sorted(_lines(f"/proc/sysvipc/{kind}")):
            words = line.split()
            owners = [w for w in words[4:] if w.isdigit() and int(w) >= BOX_UIDS]
            if words[0] == MARK_KEY or owners or str(PLAIN_USER) in words[4:]:
                found.add(f"System V {kind} {words[:2]}")
    return found


def _names(*globs):
    return {str(p) for folder, pattern in globs for p in Path(folder).glob(pattern)}


def _lines(path):
    try:
        return set(Path(path).read_text().splitlines())
    except OSError:
        return set()


class Leftovers:
    """Everything the machine had before; complaints() says what is there now and was not."""

    def __init__(self, folder, mark, uid=None):
        self.folder, self.mark, self.uid = folder, mark, uid
        self.pids = Pids()
        self.mounts = _lines("/proc/self/mountinfo")
        self.cgroups = _cgroup_folders()
        self.sysv = _sysv_objects()
        self.names = self._all_names()

    def _all_names(self):
        """Slots are numbered by lock files, which stay; what attackers leave has names that we know."""
        found = _names(
            ("/dev/shm", "*tribunal*"), ("/dev/shm", "fill*"), ("/dev/mqueue", "*tribunal*"),
            ("/run", "tribunal*/*"), ("/tmp", ".tribunal*"), ("/var/tmp", ".tribunal*"),
            (self.folder, "*"),
        )
        return {n for n in found if not os.path.basename(n).startswith("slot-")}

    def _now(self):
        found = _processes_with(self.mark, self.uid, self.pids.new())
        found += [f"mount {m}" for m in _lines("/proc/self/mountinfo") - self.mounts]
        found += [f"cgroup {c}" for c in _cgroup_folders() - self.cgroups if _is_ours_and_left(c)]
        found += _sysv_objects() - self.sysv
        found += [f"file {n}" for n in self._all_names() - self.names]
        return found

    def complaints(self, allowed_s=1.0):
        """What is still there after allowed_s. Other users of the machine come and go; what we left
        stays, so only what is seen at the end of the wait counts."""
        until = time.monotonic() + allowed_s
        while True:
            _reap_orphans()
            found = self._now()
            if not found or time.monotonic() > until:
                return found
            time.sleep(0.05)


def new_mark():
    return "mark-" + uuid.uuid4().hex[:12]


def parse_report(out, err, code):
    try:
        return json.loads(out)
    except ValueError:
        raise ToolFailed(f"no report: exit {code}, stdout {out[:300]!r}, stderr {err[:600]!r}") from None


# ---------------------------------------------------------------- runs


UNITS = {"us": 1, "ms": 1000, "s": 1000000, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def plain_number(text):
    """"200ms" in microseconds, "64M" in bytes, "48" as it is."""
    for unit, factor in UNITS.items():
        if str(text).endswith(unit) and str(text)[: -len(unit)].isdigit():
            return int(str(text)[: -len(unit)]) * factor
    return int(text)


def _slot_words(run, folder, i):
    """The same for the driver of several runs (slot.c)."""
    words = [w for k, v in run.limits.items() for w in (f"--{k}", str(plain_number(v)))]
    if run.stdin:
        words += ["--stdin", run.stdin]
    words += ["--stdout", str(folder / f"stdout.{i}"), "--stderr", str(folder / f"stderr.{i}")]
    for key, value in run.env.items():
        words += ["--env", f"{key}={value}"]
    for k, name in enumerate(run.get):
        words += ["--get", name, str(folder / f"got.{i}.{k}")]
    return [*words, "--run", str(len(run.argv)), *run.argv]


def run_slot(mode, runs, puts, folder, *slot_options):
    """The runs one after another in the same slot."""
    words = [*mode.options, *slot_options]
    for name, path in puts.items():
        words += ["--put", str(path), name]
    for i, run in enumerate(runs):
        words += _slot_words(run, folder, i)
    code, out, err = call(mode, words, cwd=folder, program=[slot_program, tool_path()])
    if code != 0:
        raise ToolFailed(f"the box failed: exit {code}: {err.decode(errors='replace')[:600]}")
    reports = parse_report(out, err, code)["runs"]
    return [_outcome(r, run, folder, i) for i, (r, run) in enumerate(zip(reports, runs, strict=True))]


def _run_options(run, folder, i):
    """Options of one run, and where its streams and files go."""
    words = limit_options(run.limits)
    if run.stdin:
        words += ["--stdin", run.stdin]
    words += ["--stdout", str(folder / f"stdout.{i}"), "--stderr", str(folder / f"stderr.{i}")]
    for key, value in run.env.items():
        words += ["--env", f"{key}={value}"]
    for k, name in enumerate(run.get):
        words += ["--get", f"{name}:{folder / f'got.{i}.{k}'}"]
    return words


def _take(path):
    """The bytes of a file that came out, which is then removed; None when there is none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ToolFailed(f"{path.name} is not a regular file on the host")
        data = path.read_bytes() if path.stat().st_size < 64 << 20 else b"HUGE" * (1 << 20)
    except FileNotFoundError:
        return None
    finally:
        path.unlink(missing_ok=True)
    return data


def _outcome(report, run, folder, i):
    return Outcome(
        report,
        _take(folder / f"stdout.{i}") or b"",
        _take(folder / f"stderr.{i}") or b"",
        {name: _take(folder / f"got.{i}.{k}") for k, name in enumerate(run.get)},
    )


def put_options(puts):
    return [word for name, path in puts.items() for word in ("--put", f"{path}:{name}")]


def run_one(mode, run, puts, folder, *more, **kw):
    """One run in a slot of its own."""
    args = ["run", "--json", *mode.options, *more, *put_options(puts), *_run_options(run, folder, 0)]
    code, out, err = call(mode, [*args, "--", *run.argv], cwd=folder, **kw)
    outcome = _outcome(parse_report(out, err, code), run, folder, 0)
    good = outcome.report["cause"] == "exit" and outcome.report["exit"] == 0
    if code != (0 if good else 1):
        raise ToolFailed(f"exit code {code} does not fit the report {outcome.report}")
    return outcome
