"""Where the time of a run goes: at its end, the seconds of all tests by what they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import connection

MARKS = {
    "browser": "browser",
    "slurm": "Slurm",
    "hosts": "three hosts",
    "celery": "Celery",
    "programs": "programs, servers, threads",
}
SHORT_S = 60
"""Of a shorter run nobody asks where its time went."""

SECONDS: pytest.StashKey[float] = pytest.StashKey()


class TimeByKind:
    """Counts the tests and the seconds of each kind; in a suite that is spread, of all its processes."""

    def __init__(self) -> None:
        self.tests: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """The last report of a test carries its kind and the seconds of all of it."""
        report = yield
        item.stash[SECONDS] = item.stash.get(SECONDS, 0.0) + report.duration
        if report.when == "teardown":
            report.kind, report.seconds = kind_of(item), item.stash[SECONDS]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.tests[report.kind] += 1
            self.seconds[report.kind] += report.seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = sum(self.seconds.values())
        if total < SHORT_S:
            return
        terminalreporter.section("time by kind of test")
        for kind, seconds in self.seconds.most_common():
            share = f"{100 * seconds / total:.0f} %"
            terminalreporter.line(f"{seconds:8.0f} s {share:>5} {self.tests[kind]:7,} tests: {kind}")


def kind_of(item: pytest.Item) -> str:
    """The first that holds: what it is marked for, how it is made, what it stores and where."""
    marked = next((kind for mark, kind in MARKS.items() if item.get_closest_marker(mark)), None)
    if marked:
        return marked
    if hasattr(getattr(item, "function", None), "hypothesis"):
        return "hypothesis"
    return f"rows on {connection.vendor}" if item.get_closest_marker("django_db") else "rest"
