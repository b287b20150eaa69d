"""What hints at `sbatch` cost a submission: the filter against one that does nothing, on a real Slurm.

    python -m bench.hints          as root, with Slurm's daemons installed

Its controller runs alone, without nodes. `sbatch --hold` alternates between the two filters in one run, so that a busy
machine disturbs both alike; times are of the clock, since a person waits for them. Each measured filter finds a file
of a hundred hints of 60 kB, and the work is the last one in it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from cli.hints import BYTES_MAX
from tests.filter_installer import INSTALLER
from tests.slurm.cluster import CLUSTER, USER
from tests.slurm.hint_files import BODY, LINES, NAME, PROJECT, new_home, put, written
from tests.wire.sbatch.slurm_reading import SlurmReading

TURNS = 60
ADDED_MS_MAX = 30.0
"""The median may be this much above that of a filter that does nothing (issue 19)."""

NO_OP = """\
function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset) return slurm.SUCCESS end
function slurm_cli_post_submit(offset, jobid, stepid) return slurm.SUCCESS end
"""
OPTIONS = ["--hold", f"--account={PROJECT}", f"--job-name={NAME}", "job.sh"]
OTHER = f"work\t{CLUSTER}\t{PROJECT}\n" + "".join(f"name\tother-{number}\n" for number in range(38)) + "line\tx\n"


class Submissions(SlurmReading):
    """A person who submits, with one filter or another."""

    def start(self) -> None:
        super().start()
        (self.work / "job.sh").write_text("#!/bin/sh\ntrue\n")
        self.filter = self.top / "cli_filter.lua"
        self.filter.unlink()
        words = [sys.executable, str(INSTALLER), "--to", str(self.top), "--kaiku", ""]
        subprocess.run(words, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        self.filters = {"no-op filter": NO_OP, "hints": self.filter.read_text()}
        self.home = self.top / "home"

    def took_s(self, name: str) -> tuple[float, str]:
        """How long one submission took, and what it wrote to standard error."""
        self.filter.write_text(self.filters[name])
        before = time.perf_counter()
        done = subprocess.run(
            ["sbatch", *OPTIONS],
            env={**self.environment, "HOME": str(self.home)},
            cwd=self.work,
            user=USER,
            group=USER,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return time.perf_counter() - before, done.stderr


def main() -> None:
    slurm = Submissions()
    try:
        slurm.start()
        body = OTHER * ((BYTES_MAX - 1000) // len(OTHER)) + BODY
        put(new_home(slurm.home), written(body))
        took: dict[str, list[float]] = {name: [] for name in slurm.filters}
        for _ in range(TURNS + 1):
            for name, times in took.items():
                seconds, said = slurm.took_s(name)
                assert (LINES[0] in said) == (name == "hints"), said
                times.append(seconds)
    finally:
        slurm.stop()
    medians = {name: statistics.median(times[1:]) * 1e3 for name, times in took.items()}
    nothing, hints = medians["no-op filter"], medians["hints"]
    word = "ok" if hints - nothing <= ADDED_MS_MAX else "MISSED"
    print(f"sbatch with hints, median of {TURNS} alternating submissions, a file of {len(body)} bytes")
    print(f"  no-op filter {nothing:.1f} ms, hints {hints:.1f} ms: {hints / nothing:.2f} times")
    print(f"  added {hints - nothing:.1f} ms  <= {ADDED_MS_MAX:g} {word}")


if __name__ == "__main__":
    main()
