"""A controller and real judges for the pages: tribunald and tribunal-worker as people start them."""

import os
import pathlib

from controller.tribunald import BUILD, ROOT, Tribunald
from harness.proc import Server, Unavailable

WORKER = BUILD / "src/worker/tribunal-worker"


class Judge(Server):
    """One tribunal-worker, connected to a controller. Its port is that of its own metrics."""

    name = "judge"
    start_timeout = 60.0

    def __init__(self, controller, judge_id, concurrency=1):
        super().__init__()
        self.controller, self.judge_id, self.concurrency = controller, judge_id, concurrency

    @classmethod
    def find(cls):
        if not WORKER.exists():
            raise Unavailable("tribunal-worker is not built", "make")
        return str(WORKER)

    def prepare(self):
        key = pathlib.Path(self.folder) / "key"
        key.write_text(self.controller.keys["judge"] + "\n", encoding="ascii")
        key.chmod(0o600)

    def command(self):
        return [self.find(), "--controller", f"ws://127.0.0.1:{self.controller.port}", "--key-file",
                f"{self.folder}/key", "--worker-id", self.judge_id, "--concurrency",
                str(self.concurrency), "--languages", str(ROOT / "languages"), "--state",
                self.folder, "--metrics-listen", f"127.0.0.1:{self.port}"]

    def variables_inside(self):
        return {"TRIBUNAL_BOX": os.environ.get("TRIBUNAL_BOX", str(BUILD / "src/boxd/tribunal-box"))}

    def ready(self):
        return self.state() == "connected"

    def state(self):
        """What the controller thinks of it."""
        judges = self.controller.get("/api/v1/judges")["judges"]
        return next((one["state"] for one in judges if one["judge_id"] == self.judge_id), None)


PROBLEMS = ("a-plus-b", "guess", "spread", "squares", "stairs", "pair")


def controller(*options, problems=PROBLEMS):
    return Tribunald("--languages", str(ROOT / "languages"), *options, problems=problems)
