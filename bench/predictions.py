"""A scorecard of predictions: run times and cost of the next run of a work, each predicted before it was submitted.

Over the demo's sample jobs, and over real accounting (`tests/samples/accounting`), of which the settings were chosen on
the earlier half by time of submission; the later half is what is reported. Runs that one person submitted within the
same clock hour with the same request count once. Run by `make score`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from analysis.next_request import bill
from analysis.predictions.calibration import Checked, Record, misses_promise, record_of
from analysis.predictions.choosing import made
from analysis.predictions.protocol import RUNS_MIN, Observed, Predicted, Request
from analysis.thresholds import LIMITS
from bench.samples.generate import sample_jobs
from bench.samples.people import sample_people
from bench.samples.scaling_study import scaling_study
from jobs.hardware import partition_of
from jobs.sbatch import Shape
from jobs.work_key import is_trial, normalised_name

ACCOUNTING = Path(__file__).resolve().parent.parent / "tests" / "samples" / "accounting" / "runs.csv.gz"
SEEDS, PROJECTS, UNTIL = range(2026, 2036), 2, datetime(2026, 11, 20, tzinfo=UTC)
HOUR_S = 3600.0
REPORT_AFTER = timedelta(minutes=5)
CHOSEN = "chosen"

REAL_ERROR_MAX = 35.0
"""Measured: 32 %. The target of 20 % is not reached where nobody knows which runs are the same work."""


@dataclass(frozen=True)
class Run:
    """One completed run of at least five minutes; times in seconds since 1970.

    `work` is what runs are compared within, `price` what an hour of it costs.
    """

    work: Hashable
    request: Request
    submitted_s: float
    ended_s: float
    run_s: float
    price: float = 1.0

    @property
    def submission(self) -> Hashable:
        return self.work, self.request, self.submitted_s // HOUR_S


class Replayed(NamedTuple):
    """A run with what one method predicted for it, and the price of the last run of its size by then."""

    run: Run
    method: str
    predicted: Predicted
    last_price: float


def replayed(runs: Sequence[Run], since_s: float, until_s: float) -> Iterator[Replayed]:
    """Every run submitted in this time with what each method, and the chosen one, predicted when it was submitted.

    Only where at least five runs of the same size had ended by then.
    """
    works: dict[Hashable, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.ended_s):
        works[run.work].append(run)
    for run in sorted(runs, key=lambda run: run.submitted_s):
        if not since_s <= run.submitted_s < until_s:
            continue
        before = [each for each in works[run.work] if each.ended_s <= run.submitted_s]
        alike = [each for each in before if each.request.size == run.request.size]
        if len(alike) < RUNS_MIN:
            continue
        earlier = [Observed(each.request, each.run_s) for each in before]
        found = made(earlier, run.request)
        yield Replayed(run, CHOSEN, found[0].predicted, alike[-1].price)
        for each in found:
            yield Replayed(run, each.method.value, each.predicted, alike[-1].price)


def records(replay: Iterable[Replayed], *, is_by_submission: bool) -> dict[tuple[str, str], Record]:
    """(method, "run_s" or "gpu_hours") with its figures, of each submission the first run or of every run."""
    found: dict[tuple[str, str], list[Checked]] = defaultdict(list)
    seen: set[Hashable] = set()
    for run, method, value, last_price in replay:
        if is_by_submission and (method, run.submission) in seen:
            continue
        seen.add((method, run.submission))
        for quantity in ("run_s", "gpu_hours"):
            # A run that was requested otherwise than the last one of its size costs something else in the same time.
            actual = run.run_s * (run.price / last_price if quantity == "gpu_hours" else 1.0)
            inside = value.low <= actual <= value.high
            error = actual / value.typical - 1
            found[method, quantity].append(
                Checked(0, str(run.work), method, quantity, error, value.promised_fraction, inside)
            )
    return {key: record_of(rows) for key, rows in found.items()}


def accounting(path: Path = ACCOUNTING) -> list[Run]:
    """The real runs. There are no names of jobs: what one person requests alike on one cluster stands for a work."""
    with gzip.open(path, "rt") as lines:
        return [_real(row) for row in csv.DictReader(lines)]


def _real(row: dict[str, str]) -> Run:
    alike = tuple(row[name] for name in ("cluster", "user", "partition", "gpus", "nodes", "cpus", "mem_gb", "limit_s"))
    request = Request(
        row["partition"], int(row["nodes"]), int(row["gpus"]), int(row["cpus"]) or None, float(row["limit_s"])
    )
    submitted_s, ended_s = (datetime.fromisoformat(row[name]).timestamp() for name in ("submit", "end"))
    return Run(alike, request, submitted_s, ended_s, float(row["run_s"]))


def samples() -> list[Run]:
    """The demo's sample jobs, of ten seeds: works as the portal recognises them.

    Without its daily runs, which always take the same time: nothing is predicted there.
    """
    return [run for seed in SEEDS for run in _samples(seed)]


def _samples(seed: int) -> Iterator[Run]:
    people = {person.username: person for person in sample_people(seed=seed, projects=PROJECTS)}
    jobs = [
        *sample_jobs(seed=seed, projects=PROJECTS, until=UNTIL),
        *scaling_study(people["grace"], seed=seed, until=UNTIL),
    ]
    for job in jobs:
        row = job.record
        name = normalised_name(row.get("job_name", ""))
        is_true = row["state"] == "COMPLETED" and row["walltime_used_s"] >= LIMITS.short_job_s
        if name and is_true and row.get("gpus_allocated") and not is_trial(row["job_name"]):
            yield _sample(seed, name, row)


def _sample(seed: int, name: str, row: dict[str, Any]) -> Run:
    shape = Shape(
        nodes=row["node_count"],
        gpus=row["gpus_allocated"],
        cores=row.get("cpus_allocated"),
        memory_gb=row.get("memory_requested_gb"),
        partition=row["partition"],
        is_exclusive=row.get("is_exclusive", False),
    )
    partition = partition_of(row["cluster"], row["partition"])
    hardware = str(partition.node) if partition else row["partition"]
    request = Request(hardware, shape.nodes, shape.gpus, shape.cores, row.get("walltime_requested_s"))
    submitted, ended = (datetime.fromisoformat(row[field]) for field in ("submitted_at", "ended_at"))
    work = (seed, row["user_id"], row["project_id"], name)
    price = bill(partition, shape, HOUR_S) or 1.0
    # Its report, and so the prediction, exists a little after its end.
    known_s = (ended + REPORT_AFTER).timestamp()
    return Run(work, request, submitted.timestamp(), known_s, row["walltime_used_s"], price)


HEAD = f"{'':31}{'runs':>6} {'off':>6} {'within 20 %':>12} {'within 15 %':>12} {'range held':>11} {'promised':>9}"


def line(name: str, found: Record) -> str:
    """One row of the table."""
    shares = (found.within_20 / found.exact, found.within_15 / found.exact, found.inside / found.ranged)
    return (
        f"  {name:29}{found.exact:6,} {found.median_error_percent or 0.0:5.1f}% {shares[0]:11.0%} {shares[1]:12.0%}"
        f" {shares[2]:11.0%} {found.promised_fraction or 0.0:9.0%}"
    )


def table(title: str, found: dict[tuple[str, str], Record]) -> None:
    print(f"{title}\n{HEAD}")
    for (method, quantity), one in sorted(found.items()):
        print(line(f"{method}, {'cost' if quantity == 'gpu_hours' else 'run time'}", one))


def _failed(samples: dict[tuple[str, str], Record], real: dict[tuple[str, str], Record]) -> Iterator[str]:
    """What is over its limit: the targets on the sample jobs; on real accounting what was measured, and the mark."""
    for quantity, most in (("run_s", 20.0), ("gpu_hours", 15.0)):
        if (samples[CHOSEN, quantity].median_error_percent or 0.0) > most:
            yield f"sample jobs: {quantity} is off by more than {most:g} %"
    if misses_promise(samples[CHOSEN, "run_s"]):
        yield "sample jobs: ranges held less often than promised"
    of_real = real[CHOSEN, "run_s"]
    if (of_real.median_error_percent or 0.0) > REAL_ERROR_MAX:
        yield f"real accounting: run times are off by more than {REAL_ERROR_MAX:g} %"
    if of_real.inside < (of_real.promised_fraction or 0.0) * of_real.ranged and not misses_promise(of_real):
        yield "real accounting: ranges held less often than promised, and the method is not marked"


def main() -> int:
    """Print the tables; 1 where a limit is not met."""
    end = float("inf")
    of_samples = records(replayed(samples(), -end, end), is_by_submission=True)
    table("Sample jobs of the demo, ten seeds, by submission", of_samples)
    real = accounting()
    half_s = sorted(run.submitted_s for run in real)[len(real) // 2]
    table(
        "Real accounting, earlier half (settings were chosen on it), by submission",
        records(replayed(real, -end, half_s), is_by_submission=True),
    )
    later = list(replayed(real, half_s, end))
    of_real = records(later, is_by_submission=True)
    table("Real accounting, later half, by submission", of_real)
    table("Real accounting, later half, by job", records(later, is_by_submission=False))
    failed = list(_failed(of_samples, of_real))
    print("\n".join(failed) or "All limits are met.")
    return bool(failed)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m bench.predictions", description=__doc__).parse_args()
    sys.exit(main())
