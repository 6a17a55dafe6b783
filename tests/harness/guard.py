"""The guard: a small process that is the parent of one server and owns its folder.

proc.py starts one per server, as `python3 -I -S guard.py FOLDER`, and talks to it in lines of JSON
over stdin and stdout. The guard starts the server's processes, kills them, and, when it is told to
end or its own parent is gone for whatever reason (kill -9 included), kills everything below
itself and removes the folder.

Why a process and not PR_SET_PDEATHSIG: that signal is tied to a thread and is cleared when a
program changes its user, as PostgreSQL's start does. The guard watches its parent through a pidfd
instead. It is a subreaper, so a process that forks twice or makes its own session (PostgreSQL's
backends do) becomes the guard's child at the latest when its parent dies, and cannot get away.

Never leaves a process or the folder behind, and never touches a process that is not below it.
Standard library only, and nothing of this package: it must work while the tests' tree is changing.
"""

import contextlib
import ctypes
import glob
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
POLITE_S = 2.0  # for a server to go by itself at the end; the promise is "gone within 5 s"
KILL_S = 10.0  # a process in an uninterruptible wait can outlive SIGKILL for a while


class Guard:
    def __init__(self, folder):
        self.folder = folder
        self.children = {}  # pid -> Popen, of what was started on request
        self.end_signal = signal.SIGTERM

    # Requests. Each returns the answer, a dict.

    def start(self, argv, env, log, cwd, user=None, end_signal=signal.SIGTERM):
        """Start `argv`; its output is appended to `log`."""
        self.end_signal = end_signal
        who = {}
        if user is not None and os.geteuid() == 0:
            entry = pwd.getpwnam(user)
            who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        with open(log, "ab") as out:
            child = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=out, start_new_session=True, **who)
        self.children[child.pid] = child
        return {"pid": child.pid}

    def poll(self, pid):
        """The exit code, negative for a signal, or null while it runs."""
        return {"rc": self.children[pid].poll()}

    def signal(self, pid, number):
        self.children[pid].send_signal(number)
        return {}

    def listens(self, port):
        """Whether one of ours listens on the port, and not a stranger who was quicker."""
        ours = {link for pid in descendants(os.getpid()) for link in links_of(pid)}
        return {"yes": any(f"socket:[{inode}]" in ours for inode in listeners(port))}

    def kill(self):
        """SIGKILL for everything below the guard; answers when it is gone."""
        deadline = time.monotonic() + KILL_S
        while True:
            self.reap()
            pids = descendants(os.getpid())
            if not pids:
                return {}
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes {pids} outlived SIGKILL by {KILL_S:g} s")
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    # Life.

    def reap(self):
        for child in self.children.values():
            child.poll()  # so that Popen keeps the exit code; orphans are taken below
        while True:
            try:
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if info is None:
                    return
                if info.si_pid in self.children:
                    self.children[info.si_pid].poll()
                else:
                    os.waitpid(info.si_pid, 0)
            except ChildProcessError:
                return

    def serve(self):
        """Answer requests until told to end, until stdin closes or until the parent is gone."""
        parent = os.getppid()
        try:
            parent_fd = os.pidfd_open(parent)
        except OSError:
            parent_fd = None  # an old kernel: the pipe's end alone must do
        waits = [0] + ([parent_fd] if parent_fd is not None else [])
        buffered = b""
        while os.getppid() == parent:  # false when it died before the pidfd was open
            readable, _, _ = select.select(waits, [], [], 1.0)
            self.reap()
            if parent_fd in readable:
                return
            if 0 not in readable:
                continue
            data = os.read(0, 65536)
            if not data:
                return
            buffered += data
            while b"\n" in buffered:
                line, buffered = buffered.split(b"\n", 1)
                request = json.loads(line)
                name = request.pop("do")
                if name == "end":
                    return
                try:
                    answer = getattr(self, name)(**request)
                except Exception as err:  # noqa: BLE001 - the other side raises it
                    answer = {"error": f"{type(err).__name__}: {err}"}
                os.write(1, json.dumps(answer).encode() + b"\n")

    def end(self):
        """Ask the servers to go, then make them go, then remove the folder."""
        for child in self.children.values():
            if child.poll() is None:
                child.send_signal(self.end_signal)
        deadline = time.monotonic() + POLITE_S
        while time.monotonic() < deadline:
            self.reap()
            if not descendants(os.getpid()):
                break
            time.sleep(0.01)
        try:
            self.kill()
        finally:
            remove_segments(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(self.folder))  # the run's folder, by the last to leave


def descendants(root):
    """The pids below `root`, zombies that are not ours to reap included."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                ppid = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(ppid, []).append(int(name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def links_of(pid):
    """What the open files of a process are links to; nothing when it is gone."""
    folder = f"/proc/{pid}/fd"
    try:
        return [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
    except OSError:
        return []


def listeners(port):
    """The inodes of the sockets that listen on a TCP port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:
            for words in map(str.split, lines):
                if words[3] == "0A" and words[1].endswith(f":{port:04X}"):  # 0A: LISTEN
                    yield words[9]


def remove_segments(folder):
    """A PostgreSQL that was killed leaves a System V segment; its pid file says which."""
    for path in glob.glob(f"{glob.escape(folder)}/*/postmaster.pid"):
        with open(path, encoding="ascii") as lines:
            words = (lines.read().splitlines() + [""] * 8)[6].split()
        if len(words) == 2 and words[1].isdigit():
            subprocess.run(["ipcrm", "-m", words[1]], stderr=subprocess.DEVNULL, check=False)


def main():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # only the parent, or its death, ends a guard
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("guard: the kernel has no subreapers")
    guard = Guard(sys.argv[1])
    try:
        guard.serve()
    finally:
        guard.end()


if __name__ == "__main__":
    main()
