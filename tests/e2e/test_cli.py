"""The command `tribunal` at its edges: bad input ends in exit 2 and one sentence that says what to do."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
TRIBUNAL = BUILD / "src/cli/tribunal"


def tribunal(*words, env=None):
    return subprocess.run([TRIBUNAL, *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)


def one_sentence(result):
    assert result.returncode == 2, result
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


@pytest.mark.parametrize("label, text, want", [
    ("unknown key", "log_level: info\nlog_colour: red\n", "c.yaml:2: unknown key 'log_colour'"),
    ("a slip", "log_levle: info\n",
     "c.yaml:1: unknown key 'log_levle'; did you mean 'log_level'?"),
    ("wrong type", "log_level: [info]\n", "c.yaml:1: log_level: expected one value, found a list"),
    ("not a choice", "\n\nlog_level: loud\n",
     "c.yaml:3: log_level: 'loud' is not one of error, warn, info, debug"),
    ("duplicate", "color: auto\ncolor: auto\n",
     "c.yaml:2: key 'color' stands twice, first in line 1"),
    ("not YAML", "log_level: [\n", "c.yaml:2: "),
])
def test_a_wrong_configuration_names_file_line_key_and_what_was_expected(label, text, want, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    said = one_sentence(tribunal("config", "--config", path))
    assert want in said and said.startswith(f"tribunal config: {tmp_path}/")


def test_a_missing_file_and_a_folder_are_said(tmp_path):
    assert "No such file or directory" in one_sentence(tribunal("config", "--config", tmp_path / "x"))
    assert "is a folder, expected a file" in one_sentence(tribunal("config", "--config", tmp_path))


def test_a_wrong_environment_variable_is_named():
    said = one_sentence(tribunal("config", env={"TRIBUNAL_LOG_LEVEL": "5"}))
    assert said == "tribunal config: TRIBUNAL_LOG_LEVEL: '5' is not one of error, warn, info, debug"


def test_an_unknown_command_or_option_suggests_the_nearest():
    assert one_sentence(tribunal("confg")) == \
        "tribunal: unknown command 'confg'; did you mean 'config'?"
    assert one_sentence(tribunal("config", "--smaple")) == \
        "tribunal config: unknown option '--smaple'; did you mean '--sample'?"


def test_the_sample_file_is_a_good_configuration(tmp_path):
    sample = tribunal("config", "--sample").stdout
    path = tmp_path / "c.yaml"
    path.write_text(re.sub(r"^# (\w+: \S+)$", r"\1", sample, flags=re.M))
    result = tribunal("config", "--config", path)
    assert (result.returncode, result.stdout) == (0, f"{path}: good\n")


def test_every_command_has_help_with_the_same_columns():
    listed = re.findall(r"^  (\S+)", tribunal("--help").stdout.split("Commands:")[1], re.M)
    assert listed
    for name in listed:
        result = tribunal(name, "--help")
        assert result.returncode == 0, (name, result.stderr)
        assert result.stdout.startswith("Usage: tribunal " + name)


def elf(path, *words):
    return subprocess.run(["readelf", *words, path], check=True, capture_output=True, text=True).stdout


def programs():
    return [p for p in BUILD.glob("src/*/*") if p.is_file() and os.access(p, os.X_OK)
            and p.suffix == "" and "test" not in p.name]


@pytest.mark.parametrize("path", programs(), ids=lambda p: p.name)
def test_programs_are_hardened(path):
    assert "DYN (Position-Independent" in elf(path, "-hW")
    segments = elf(path, "-lW")
    assert "GNU_RELRO" in segments
    assert re.search(r"GNU_STACK.* RW ", segments)
    assert "BIND_NOW" in elf(path, "-dW")


def headers():
    return sorted((ROOT / "include/tribunal").glob("*.h"))


@pytest.mark.parametrize("path", headers(), ids=lambda p: p.name)
@pytest.mark.parametrize("compiler", [["cc", "-std=c99", "-pedantic-errors", "-xc"],
                                      ["c++", "-std=c++11", "-pedantic-errors", "-xc++"]],
                         ids=["c99", "c++11"])
def test_installed_headers_compile_alone(path, compiler):
    libraries = [name for name in ("libpq", "libmariadb", "sqlite3")]
    flags = subprocess.run(["pkg-config", "--cflags", *libraries], check=True, capture_output=True,
                           text=True).stdout.split()
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                    f"-I{ROOT}/include", *flags, path], check=True)


@pytest.fixture
def tree(tmp_path):
    """A copy of what dev/check-layers reads."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    (tmp_path / "dev").mkdir()
    shutil.copy(ROOT / "dev/check-layers", tmp_path / "dev")
    return tmp_path


@pytest.mark.parametrize("where, text, want", [
    ("src/base/x.c", '#include "rt/yaml.h"\n', "src/base/x.c:1: base/ may not include rt/"),
    ("src/base/x.c", "#include <uv.h>\n", "src/base/x.c:1: base/ may not use <uv.h>"),
    ("src/rt/x.c", '\n#include "tribunal/box.h"\n',
     "src/rt/x.c:2: rt/ may not include tribunal/box.h"),
    ("src/rt/x.c", '#include "../base/err.h"\n', 'src/rt/x.c:1: write "rt/…", not "../base/err.h"'),
    ("src/cli/x.c", "void f(char *a) { strcpy(a, a); }\n", "src/cli/x.c:1: strcpy() is banned"),
    ("src/cli/x.c", '/* strcpy(a) is fine in words */\nint a = sizeof("system(x)");\n', ""),
    ("src/new/x.c", "", "src/new/x.c:1: folder new/ is not in the table"),
])
def test_the_layer_check_names_file_and_line(where, text, want, tree):
    path = tree / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    result = subprocess.run([tree / "dev/check-layers"], capture_output=True, text=True)
    assert result.stdout.startswith(want)
    assert result.returncode == (1 if want else 0)


class Listener:
    """Takes one connection and keeps what was sent, up to the end of the headers."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.heard = b""
        self.socket.settimeout(30)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        with self.socket, self.socket.accept()[0] as conn:
            while b"\r\n\r\n" not in self.heard:
                self.heard += conn.recv(4096)

    def headers(self):
        self.thread.join(20)
        return self.heard.decode()


@pytest.mark.parametrize("server, sent", [("http://{here}", True), ("http://judge.example", False),
                                          ("http://127.0.0.1.example", False),
                                          ("http://127.0.0.1@judge.example", False),
                                          ("http://127.0.0.1:80@judge.example", False)])
def test_the_key_of_this_folder_goes_to_this_machine_alone(server, sent, tmp_path):
    """Whoever submits to a stranger's server beside a tribunal-data of its own keeps its key."""
    (tmp_path / "tribunal-data").mkdir()
    (tmp_path / "tribunal-data/admin.key").write_text("tk_secret\n")
    (tmp_path / "a.cpp").write_text("int main(){}\n")
    there = Listener()
    subprocess.run([TRIBUNAL, "submit", "a.cpp", "-p", "a", "--server",
                    server.format(here=there.where)], cwd=tmp_path, capture_output=True, timeout=60,
                   env={**os.environ, "http_proxy": f"http://{there.where}",
                        "no_proxy": "" if not sent else "*"})
    assert ("tk_secret" in there.headers()) == sent
    assert "POST" in there.headers()


def test_what_could_not_be_printed_is_a_failure(tmp_path):
    with open("/dev/full", "w", encoding="utf-8") as full:
        made = subprocess.run([TRIBUNAL, "keys", "new", "--role", "read", "--name", "a", "--db",
                               f"sqlite:{tmp_path}/a.db"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60)
    assert made.returncode == 3 and "No space left" in made.stderr
