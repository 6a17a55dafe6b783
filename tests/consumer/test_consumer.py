"""Strangers' programs: built against an installed library by pkg-config alone, one per engine.

The library is installed into a folder of its own; nothing of the source tree is on their include or
library path. They ack inside their own transaction on their own connection.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build")).resolve()
HERE = pathlib.Path(__file__).parent
CLIENT = {"sqlite": "sqlite3", "pg": "libpq", "mysql": "libmariadb"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of somebody who has only the installed files."""
    dest = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", dest],
                   check=True, capture_output=True)
    pc = next(dest.rglob("tribunal-queue.pc"))
    return {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(dest),
            "LD_LIBRARY_PATH": str(next(dest.rglob("libtribunal-queue.so")).parent)}


def flags(env, engine):
    """pkg-config's words; the client library is the system's, outside the sysroot."""
    plain = {k: v for k, v in env.items() if not k.startswith("PKG_CONFIG")}
    mine = subprocess.run(["pkg-config", "--cflags", "--libs", "tribunal-queue"], env=env, check=True,
                          capture_output=True, text=True).stdout
    theirs = subprocess.run(["pkg-config", "--cflags", "--libs", CLIENT[engine]], env=plain, check=True,
                            capture_output=True, text=True).stdout
    return mine.split() + theirs.split()


def build(env, engine, compiler, source, target):
    std = "-std=c++11" if compiler.endswith("++") else "-std=c99"
    command = [compiler, std, "-Wall", "-Wextra", "-Werror", "-pedantic", source, "-o", target,
               *flags(env, engine)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def arguments(engine, server, fresh_db, tmp_path, request):
    if engine == "sqlite":
        return [f"sqlite:{tmp_path}/consumer.db"]
    url = fresh_db(request.getfixturevalue(server))
    if engine == "pg":
        return [url]
    user, password, host, port, database = re.match(r"mysql://(.*):(.*)@(.*):(\d+)/(.*)", url).groups()
    return [url, host, port, user, password, database]


def interface():
    """What the library promises: both of its headers."""
    return "".join((ROOT / "include/tribunal" / name).read_text()
                   for name in ("queue.h", "queue_worker.h"))


@pytest.mark.parametrize("engine,server", [("sqlite", None), ("pg", "postgres"), ("mysql", "mariadb"),
                                           ("mysql", "mysql")])
@pytest.mark.parametrize("compiler", ["cc", "c++", "clang"])
def test_a_stranger_acks_in_its_own_transaction(compiler, engine, server, installed, fresh_db, tmp_path,
                                                request):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    source = HERE / f"worker_{engine}{'.cc' if compiler.endswith('++') else '.c'}"
    program = build(installed, engine, compiler, source, tmp_path / "worker")
    done = subprocess.run([program, *arguments(engine, server, fresh_db, tmp_path, request)],
                          env=installed, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "acked in my own transaction\n"


def test_the_static_library_works_too(installed, tmp_path):
    archive = next(pathlib.Path(installed["PKG_CONFIG_SYSROOT_DIR"]).rglob("libtribunal-queue.a"))
    words = [w for w in flags(installed, "sqlite") if w != "-ltribunal-queue"]
    program = tmp_path / "static"
    subprocess.run(["cc", HERE / "worker_sqlite.c", "-o", program, archive, *words, "-lm"], check=True,
                   env=installed, capture_output=True)
    done = subprocess.run([program, f"sqlite:{tmp_path}/static.db"], check=False, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_static_library_shares_no_name_with_a_stranger(installed, tmp_path):
    """Every inner name may be the stranger's own: it defines all of them, and links."""
    archive = next(pathlib.Path(installed["PKG_CONFIG_SYSROOT_DIR"]).rglob("libtribunal-queue.a"))
    header = interface()
    listed = subprocess.run(["nm", "-g", "--defined-only", archive], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in listed.splitlines() if len(line.split()) == 3]
    assert "tq_open" in names
    assert [n for n in names if not re.search(rf"\b{n}\(", header)] == []
    (tmp_path / "mine.c").write_text("int tr_fail(void) { return 1; }\nint tr_buf_add(void) { return 2; }\n"
                                     "int tqi_run(void) { return 3; }\n")
    words = [w for w in flags(installed, "sqlite") if w != "-ltribunal-queue"]
    subprocess.run(["cc", HERE / "worker_sqlite.c", tmp_path / "mine.c", "-o", tmp_path / "both", archive, *words,
                    "-lm"], check=True, env=installed, capture_output=True)


def test_the_library_brings_no_client_library(installed):
    library = next(pathlib.Path(installed["PKG_CONFIG_SYSROOT_DIR"]).rglob("libtribunal-queue.so"))
    needed = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    assert not re.search(r"NEEDED.*(pq|mariadb|mysql|sqlite)", needed)


def test_the_library_exports_only_its_interface(installed):
    library = next(pathlib.Path(installed["PKG_CONFIG_SYSROOT_DIR"]).rglob("libtribunal-queue.so"))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                             text=True).stdout
    names = [line.split()[-1].split("@")[0] for line in symbols.splitlines()]
    header = interface()
    strangers = [n for n in names if n != "TRIBUNAL_QUEUE_0" and not re.search(rf"\b{n}\(", header)]
    assert not strangers


def test_the_readme_example_survives_its_crash(installed, tmp_path):
    program = tmp_path / "crash"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", ROOT / "examples/queue/crash.c", "-o", program,
                    *flags(installed, "sqlite")], check=True, env=installed, capture_output=True)
    done = subprocess.run([program, tmp_path / "shop.db"], env=installed, capture_output=True, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "mailed at attempt 2\n"), done.stderr
    rows = subprocess.run(["sqlite3", tmp_path / "shop.db", "SELECT count(*) FROM mails"], check=True,
                          capture_output=True, text=True).stdout
    assert rows.strip() == "1"
    source = (ROOT / "examples/queue/crash.c").read_text()
    assert len(source.splitlines()) <= 60
    assert source.strip() in (ROOT / "README.md").read_text()
