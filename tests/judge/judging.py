"""How the tests of this folder call `tribunal` and read what it says."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
TRIBUNAL = BUILD / "src/cli/tribunal"
EXAMPLES = ROOT / "examples/problems"
SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"
# Kept between runs of the suite: precompiled headers take seconds to make.
CACHE = BUILD / "judge-cache"
ENV = {**os.environ, "TRIBUNAL_CACHE": str(CACHE),
       "TRIBUNAL_BOX": os.environ.get("TRIBUNAL_BOX", str(BUILD / "src/boxd/tribunal-box"))}


def run(*words, timeout=120, env=None):
    return subprocess.run([TRIBUNAL, *map(str, words)], capture_output=True, text=True,
                          errors="replace", timeout=timeout, stdin=subprocess.DEVNULL,
                          env={**ENV, **(env or {})})


class Result:
    """What one judging said."""

    def __init__(self, done):
        self.code = done.returncode
        self.stderr = done.stderr
        self.doc = json.loads(done.stdout) if done.stdout else {}
        self.result = self.doc.get("result", {})
        self.verdict = self.result.get("verdict", "")
        self.sub = self.result.get("subcode", "")
        self.cases = self.result.get("cases", [])
        self.log = self.result.get("compile", {}).get("log", "")

    def __repr__(self):
        return f"<{self.verdict} {self.sub} code={self.code} {self.stderr!r} {json.dumps(self.doc)[:1500]}>"


HONEST = '#include <stdio.h>\nint main(void){int a,b;scanf("%d%d",&a,&b);printf("%d\\n",a+b);}\n'
