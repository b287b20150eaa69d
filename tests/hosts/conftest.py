"""The table of the faults, at the end of a run that had any."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest


@dataclass(frozen=True)
class Row:
    """What came of one fault: how long it took, how long until all was reported and both worked, who did how much."""

    KEY: ClassVar[pytest.StashKey[list[Row]]] = pytest.StashKey()

    fault: str
    lasted_s: float
    recovered_s: float
    both_work_s: float
    judged_by: Counter[str]
    judged_again: list[tuple[Any, ...]]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(Row.KEY, [])
    if not rows:
        return
    terminalreporter.section("faults on three hosts")
    terminalreporter.line(
        f"{'fault':36}{'lasted s':>10}{'reported s':>12}{'both work s':>13}{'judged by one, two':>20}{'twice':>7}"
    )
    for row in rows:
        shares = f"{row.judged_by['one']}, {row.judged_by['two']}"
        times = f"{row.lasted_s:10.1f}{row.recovered_s:12.1f}{row.both_work_s:13.1f}"
        terminalreporter.line(f"{row.fault:36}{times}{shares:>20}{len(row.judged_again):7}")
