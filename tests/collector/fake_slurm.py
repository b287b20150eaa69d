"""A sacct and a sacctmgr that keep accounting in a file of JSON, and fail as they are told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STARTED = "2026-11-20T10:00:00"
"""When every job started, in UTC, unless it was started again."""

PROGRAM = """#!{python} -IS
import json, os, sys, time
folder = {folder!r}
faults = json.load(open(folder + "/faults"))
fault = faults.get(os.path.basename(sys.argv[0]))
jobs = json.load(open(folder + "/jobs"))
def option(name):
    return next(word.split("=", 1)[1] for word in sys.argv if word.startswith(name + "="))
if os.path.basename(sys.argv[0]) == "sacct":
    if fault:
        sys.exit(fault)
    mark, asked = option("--delimiter"), option("--jobs").split(",")
    for raw, (shown, state, comment, started) in jobs.items():
        if raw in asked or shown.replace("+", "_").split("_")[0] in asked:
            print(mark.join((raw, shown, state, started, comment)))
    sys.exit(0)
with open(folder + "/calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if fault == "hang":
    time.sleep(60)
if fault == 1:
    print("Nothing modified", file=sys.stderr)
    sys.exit(1)
for raw in option("jobid").split(",") if fault != "nothing" else ():
    jobs[raw][2] = option("admincomment")
    if fault == "half":
        break
with open(folder + "/jobs.new", "w") as written:
    json.dump(jobs, written)
os.replace(folder + "/jobs.new", folder + "/jobs")
if fault == "half":
    time.sleep(60)
"""


class FakeSlurm:
    """Accounting of `jobs`: raw id -> shown id, state, AdminComment; `faults` by program."""

    def __init__(self, folder: Path, jobs: dict[int, tuple[str, str, str]]) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "jobs").write_text(json.dumps({str(raw): [*row, STARTED] for raw, row in jobs.items()}))
        self.fail()
        for name in ("sacct", "sacctmgr"):
            program = folder / name
            program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
            program.chmod(0o755)

    def fail(self, **faults: Any) -> None:
        (self.folder / "faults").write_text(json.dumps(faults))

    def comments(self) -> dict[int, str]:
        stored = json.loads((self.folder / "jobs").read_text())
        return {int(raw): comment for raw, (_, _, comment, _) in stored.items() if comment}

    def end(self, raw: int, started: str = STARTED) -> None:
        """The job, which started then, ends."""
        self._change(raw, "COMPLETED", started)

    def restart(self, raw: int) -> None:
        """The job waits for its next attempt."""
        self._change(raw, "PENDING", "Unknown")

    def _change(self, raw: int, state: str, started: str) -> None:
        stored = json.loads((self.folder / "jobs").read_text())
        stored[str(raw)][1::2] = state, started
        (self.folder / "jobs").write_text(json.dumps(stored))

    def calls(self) -> list[list[str]]:
        """The arguments of every call of sacctmgr."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
