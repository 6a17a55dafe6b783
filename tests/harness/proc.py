"""The common life of a server under test: port, folder, start, readiness, stop, nothing left.

Every process is started by a guard (guard.py), one per server, which ends it and removes its folder
when this process is gone, however that happened. A server is ready when it has answered in its own
protocol, not when it has a pid.

Never listens anywhere but on 127.0.0.1, never uses a system-wide service, port or folder.
"""

import atexit
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid

from .wait import Stop, wait_until

# The mark by which every process of this run is known, in its environment.
MARK = "TRIBUNAL_HARNESS_RUN"
RUN_ID = uuid.uuid4().hex

# Below Linux's range of ephemeral ports: no client's port can take a server's
# between its death and its restart.
PORTS = range(20000, 32000)

_lock = threading.Lock()
_counter = 0
_given = set()  # ports


class Unavailable(Exception):
    """A server that cannot be had on this machine; `fix` is the command that changes it."""

    def __init__(self, reason, fix):
        super().__init__(f"{reason}; to fix: {fix}")
        self.reason = reason
        self.fix = fix


def run_root():
    """The folder of this run, below the system's temporary folder."""
    base = tempfile.gettempdir()
    if len(base) > 50:
        base = "/tmp"  # the path of a Unix socket has 107 bytes at most
    return os.path.join(base, f"tribunal-{RUN_ID[:12]}")


def environment(more=None):
    """The environment for servers and clients: ours, without what would steer them in secret, and
    with messages in English, because the harness reads some."""
    steering = ("PG", "MYSQL", "MARIADB", "NATS", "REDIS", "MINIO", "LC_", "LANG")
    env = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**env, "LC_ALL": "C.UTF-8", **(more or {}), MARK: RUN_ID}


def cache_dir():
    """Where dev/servers/* keep what they fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("TRIBUNAL_CACHE") or os.path.join(cache, "tribunal")


def find_program(*names, fix, also=()):
    """The first of `names` on PATH, in the system's sbin folders or in `also`."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", *also])
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise Unavailable(f"{names[0]} is not installed", fix)


def first_line_of(*argv):
    """The first line that a command prints, for versions."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    return (done.stdout or done.stderr).strip().split("\n")[0]


def free_port():
    """A port of 127.0.0.1 that nobody listens on now and that we never gave out before."""
    for port in random.sample(PORTS, 200):
        with _lock:
            if port in _given:
                continue
            _given.add(port)
        if port_is_free(port):
            return port
    raise RuntimeError(f"no free port among 200 tried of {PORTS}")


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def port_was_taken(err):
    """True when a server failed because somebody took its port between our look and its bind."""
    return isinstance(err, AssertionError) and "in use" in str(err)


class Guarded:
    """One guard process and the folder it owns."""

    def __init__(self, name, owner=None):
        global _counter
        with _lock:
            _counter += 1
            number = _counter
        self.folder = os.path.join(run_root(), f"{name}-{number}")
        make_folder(self.folder, owner)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard.py")
        self._lock = threading.Lock()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", script, self.folder], cwd="/", start_new_session=True,
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, do, **request):
        """Send one request to the guard and return its answer."""
        with self._lock:
            self._guard.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
            self._guard.stdin.flush()
            line = self._guard.stdout.readline()
        if not line:
            raise RuntimeError(f"the guard of {self.folder} is gone")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def end(self):
        """End the guard, and with it every process and the folder."""
        with self._lock:
            self._guard.stdin.close()  # its end of file is the order to go
            self._guard.stdout.close()
            self._guard.wait()


def make_folder(path, owner):
    """Make a run's folder and one below it that only `owner` can enter."""
    for _ in range(10):
        os.makedirs(run_root(), mode=0o711, exist_ok=True)
        try:
            os.mkdir(path, 0o700)
            break
        except FileNotFoundError:
            continue  # the last guard of the run removed the run's folder in between
    if owner is not None and os.geteuid() == 0:
        entry = pwd.getpwnam(owner)
        os.chown(path, entry.pw_uid, entry.pw_gid)


class Server:
    """A server for tests; a context manager. Subclasses say how to find, run and ask it."""

    name = ""  # also names the folder and the fixture
    user = None  # run as this user when we are root
    end_signal = signal.SIGTERM
    start_timeout = 60.0
    stop_timeout = 20.0

    def __init__(self):
        self.port = None
        self._guarded = None
        self._pid = None

    # What a subclass gives.

    @classmethod
    def find(cls):
        """Raise Unavailable when it cannot be had; else return what command() needs."""
        raise NotImplementedError

    @classmethod
    def version(cls):
        raise NotImplementedError

    def prepare(self):
        """Once, before the first start: make the data folder."""

    def command(self):
        """The server's argv; may use self.port and self.folder."""
        raise NotImplementedError

    def companions(self):
        """Other processes that it needs, one argv each; started first, ended with it."""
        return []

    def variables_inside(self):
        """Additions to the server's own environment."""
        return {}

    def ready(self):
        """True when the server has answered in its own protocol; must give up within seconds."""
        raise NotImplementedError

    def opened(self):
        """Once, after the first start: make users and the like."""

    def variables(self):
        """What `python3 -m harness up` puts into its command's environment."""
        return {f"TRIBUNAL_TEST_{self.name.upper()}": self.url}

    # Life.

    @property
    def folder(self):
        return self._guarded.folder

    @property
    def log(self):
        return os.path.join(self.folder, "log")

    @property
    def pid(self):
        """The main process, or None while it is down."""
        return self._pid

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Find, prepare and start; returns self when it answers. Harmless the second time."""
        if self._guarded is not None:
            return self
        self.find()
        self._guarded = Guarded(self.name, self.user)
        atexit.register(self.stop)
        try:
            self.prepare()
            self._launch_on_free_port()
            self.opened()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Stop the server and remove its folder; harmless when that was done before."""
        atexit.unregister(self.stop)
        guarded, self._guarded = self._guarded, None
        if guarded is None:
            return
        try:
            if self._pid is not None:
                self._end_process(guarded)
        finally:
            self._pid = None
            guarded.end()

    def kill9(self):
        """SIGKILL for the server and all its processes; data folder and port stay ours."""
        self._guarded.ask("kill")
        self._pid = None

    def shutdown(self):
        """Stop the server in order, keep folder and port for restart()."""
        if self._pid is not None:
            self._end_process(self._guarded)
            self._pid = None

    def restart(self):
        """Start again on the same port and data folder, stopping first if it runs."""
        self.shutdown()
        self._launch()

    def log_tail(self, lines=30):
        """The last lines of the log, or a word that there is none."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                return "".join(log.readlines()[-lines:]) or "(the log is empty)\n"
        except (OSError, AttributeError):
            return "(no log)\n"

    def run(self, *argv, timeout=60.0):
        """Run a helper of the server (initdb and the like) as its user; fails with its log."""
        pid = self._spawn(argv)
        wait_until(lambda: self._rc(pid) is not None, timeout,
                   f"{os.path.basename(argv[0])} to end")
        if self._rc(pid) != 0:
            raise RuntimeError(f"{argv[0]} ended with {self._rc(pid)}:\n{self.log_tail()}")

    def _spawn(self, argv):
        env = environment(self.variables_inside())
        return self._guarded.ask("start", argv=list(argv), env=env, log=self.log, cwd=self.folder,
                                 user=self.user, end_signal=int(self.end_signal))["pid"]

    def _rc(self, pid):
        return self._guarded.ask("poll", pid=pid)["rc"]

    def _launch_on_free_port(self):
        for left in (2, 1, 0):
            self.take_ports()
            try:
                return self._launch()
            except AssertionError as err:
                if left == 0 or not port_was_taken(err):
                    raise
        return None

    def take_ports(self):
        """Choose the ports for the first start."""
        self.port = free_port()

    def _launch(self):
        for argv in self.companions():
            self._spawn(argv)
        self._pid = self._spawn(self.command())
        try:
            wait_until(self._ready_or_stop, self.start_timeout, f"{self.name} to answer")
        except AssertionError as err:
            self._guarded.ask("kill")
            self._pid = None
            raise AssertionError(f"{err}\nits log ends:\n{self.log_tail()}") from None

    def _ready_or_stop(self):
        rc = self._rc(self._pid)
        if rc is not None:
            raise Stop(f"it ended with {rc}")
        return self.ready() and self._guarded.ask("listens", port=self.port)["yes"]

    def _end_process(self, guarded):
        """TERM (or what the server likes better), then KILL for whatever is left of it."""
        pid = self._pid
        if guarded.ask("poll", pid=pid)["rc"] is None:
            guarded.ask("signal", pid=pid, number=int(self.end_signal))
            try:
                wait_until(lambda: guarded.ask("poll", pid=pid)["rc"] is not None,
                           self.stop_timeout, f"{self.name} to stop")
            except AssertionError:
                pass  # it had its time
        guarded.ask("kill")
