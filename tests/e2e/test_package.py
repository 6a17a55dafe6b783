"""The Debian packages, built, looked at by lintian, installed into a fresh Debian and used there under
a real systemd (user-mode Linux; doc/decisions/0801). Long run only: it takes about six minutes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ["dh", "lintian", "mmdebstrap", "mke2fs", "linux.uml"]

pytestmark = pytest.mark.skipif(os.environ.get("TRIBUNAL_SOAK") != "1", reason="not in the short run")

TOUR = """[Unit]
RequiresMountsFor=/mnt
[Service]
ExecStart=/bin/bash /mnt/package_tour.sh
StandardOutput=truncate:/mnt/out
StandardError=append:/mnt/errors
"""


def run(*words, minutes=10, **options):
    done = subprocess.run(words, timeout=minutes * 60, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, **options)
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module", name="packages")
def build_packages(tmp_path_factory):
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing or os.geteuid() != 0:
        reason = f"CANNOT RUN HERE: needs root and {', '.join(TOOLS)}; run: dev/setup package"
        (pytest.fail if os.environ.get("TRIBUNAL_MUST_WORK") == "1" else pytest.skip)(reason)
    folder = tmp_path_factory.mktemp("deb")
    run(ROOT / "dist/build-deb", folder, minutes=20)
    return folder


@pytest.fixture(scope="module", name="image")
def fresh_debian(packages, tmp_path_factory):
    """A disk with Debian and the packages on it; the tour is what it starts."""
    folder = tmp_path_factory.mktemp("debian")
    root, wanted = folder / "root", packages / "wanted"
    wanted.mkdir()
    for package in packages.glob("*.deb"):
        if "dbgsym" not in package.name:
            shutil.copy(package, wanted)
    run("mmdebstrap", "--variant=minbase", "--include=gcc,libc6-dev,libsqlite3-dev,pkg-config,procps,python3,systemd",
        f"--customize-hook=copy-in {wanted} /opt",
        '--customize-hook=mv "$1/opt/wanted" "$1/opt/deb"',
        '--customize-hook=chroot "$1" sh -c "apt-get install -y --no-install-recommends /opt/deb/*.deb"',
        "bookworm", root, minutes=20)
    units = root / "etc/systemd/system"
    (units / "tour.service").write_text(TOUR)
    (units / "multi-user.target.wants").mkdir(exist_ok=True)
    (units / "multi-user.target.wants/tour.service").symlink_to("/etc/systemd/system/tour.service")
    (root / "etc/fstab").write_text(f"none /mnt hostfs {folder / 'shared'} 0 0\n")
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-d", root, folder / "disk", "3G")
    shutil.rmtree(root)
    return folder / "disk"


@pytest.fixture(scope="module", name="seen")
def tour(image):
    """What each step of the tour said."""
    shared, work = image.parent / "shared", image.parent / "uml"
    shared.mkdir()
    work.mkdir()
    shutil.copy(HERE / "package_tour.sh", shared)
    program = re.search(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S).group(1)
    (shared / "crash.c").write_text(program)
    subprocess.run(["linux.uml", "mem=1G", f"ubd0={image}", "root=/dev/ubda", "rw",
                    "init=/lib/systemd/systemd", "con0=null", "con=null", f"umid=tour{os.getpid()}",
                    f"uml_dir={work}"], env={**os.environ, "TMPDIR": str(work)}, timeout=15 * 60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    text = (shared / "out").read_text()
    print(text)
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def test_lintian_has_nothing_to_say(packages):
    run("lintian", "--allow-root", "--fail-on", "error,warning", *packages.glob("*.deb"))


@pytest.mark.parametrize("step,expected", [
    ("users", "^tribunal:x:.*/nologin tribunal-judge:x:.*/nologin$"),
    ("doctor", "^a run +ok|^a run ok"),
    ("not-started", "^disabled disabled$"),
    ("start", "^$"),
    ("no-root", "^tribunal$"),
    ("import", "^a-plus-b: new"),
    ("no-key", "failed"),
    ("join", "^$"),
    ("status", "^connected$"),
    ("judged", "^AC .*20/20"),
    ("compiled", "^AC .*20/20"),
    ("delegated", r"^(/sys/fs/cgroup/system\.slice/tribunal-worker\.service/tribunal-\S+/init ?)+$"),
    ("killed-controller", "^active 1$"),
    ("killed-judge", "^active 1$"),
    ("judged-again", "^AC "),
    ("hung-controller", "^active 2$"),
    ("reload", "^$"),
    ("manual", "gz:[1-9].*gz:[1-9]"),
    ("program", "^mailed at attempt 2$"),
    ("upgrade", "^$"),
    ("kept", "^# mine$"),
    ("runs-anew", "^active new$"),
    ("judged-after", "^AC "),
    ("stop", "^$"),
    ("remove", "^$"),
    ("stopped", "^0 judge.key tribunald.yaml worker.yaml$"),
    ("purge", "submissions are kept"),
    ("left", "^/usr/bin/tribunal-box /var/lib/tribunal$"),
])
def test_an_operators_tour(seen, step, expected):
    assert re.search(expected, seen.get(step, "not reached")), seen.get(step, "not reached")
