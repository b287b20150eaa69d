"""What a run of the suite was: its phases write down what became of each test, and one summary is made of all of them.

Runs with KAIKU_TEST_TOLD=FOLDER write there. `python -m tests.telling FOLDER` prints the summary; with `parts` or
`programs` after it the names of the tests that asked for a part, or for that or a program beside Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.uses import PROPERTY, without_case

FOLDER = os.environ.get("KAIKU_TEST_TOLD", "")
PHASE = os.environ.get("KAIKU_TEST_PHASE", "")
SLOWEST = 10
BEGAN = time.monotonic()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """At the end of a phase, in the process that has the reports of all others."""
    if not FOLDER or hasattr(config, "workerinput"):
        return
    seconds, outcomes, reasons, uses = Counter[str](), {}, {}, {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.CollectReport) and report.failed:
                outcomes[report.nodeid] = report.outcome
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
                together = uses.setdefault(without_case(report.nodeid), [[], []])
                for known, more in zip(together, dict(report.user_properties).get(PROPERTY, ()), strict=False):
                    known += [each for each in more if each not in known]
                if report.when == "call" or report.outcome != "passed":
                    outcomes[report.nodeid] = report.outcome
                if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
                    reasons[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")
    told = {
        "phase": PHASE,
        "seconds": time.monotonic() - BEGAN,
        "outcomes": outcomes,
        "reasons": reasons,
        "uses": uses,
        "slowest": seconds.most_common(SLOWEST),
    }
    (Path(FOLDER) / f"{time.time_ns()}.json").write_text(json.dumps(told))


def summary(phases: list[dict[str, Any]], left_out_whole: list[str]) -> Iterator[str]:
    """What is printed; a test that one phase left out and another ran is not left out."""
    yield "== summary"
    for phase in phases:
        counts = Counter(phase["outcomes"].values())
        said = f"{counts['passed']:,} passed, {counts['failed']:,} failed, {counts['skipped']:,} not in this phase"
        yield f"{phase['phase']}: {said}, {phase['seconds']:.0f} s"
    ran = {without_case(name) for phase in phases for name, came in phase["outcomes"].items() if came != "skipped"}
    reasons = {
        name: reason for phase in phases for name, reason in phase["reasons"].items() if without_case(name) not in ran
    }
    counted = Counter(reasons.values())
    count = sum(counted.values())
    yield f"Left out: {count:,} test{'' if count == 1 else 's'}"
    yield from (f"{count:7,}  {reason}" for reason, count in counted.most_common())
    yield from (f"    all  {each}" for each in left_out_whole)
    slowest = sorted((each for phase in phases for each in phase["slowest"]), key=lambda each: -each[1])
    yield f"The slowest {SLOWEST}:"
    yield from (f"{seconds:6.1f} s  {name}" for name, seconds in slowest[:SLOWEST])
    failed = [name for phase in phases for name, came in phase["outcomes"].items() if came == "failed"]
    if failed:
        yield f"Failed: {len(failed):,}"
        yield from (f"  {name}" for name in failed)


def using(phases: list[dict[str, Any]], what: str) -> Iterator[str]:
    for phase in phases:
        for name, (programs, parts) in phase["uses"].items():
            if parts or (what == "programs" and programs):
                yield name


def main(folder: Path, *what: str) -> None:
    phases = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    whole = folder / "left_out"
    left_out = whole.read_text().splitlines() if whole.exists() else []
    for line in sorted(set(using(phases, *what))) if what else summary(phases, left_out):
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
