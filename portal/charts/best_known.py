"""The best known request as lines to copy, with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from analysis.works.best_request import (
    Options,
    advised,
    best_request,
    is_spelling_known,
    is_without_gpu_use,
    lines_of,
    options_of,
    was_tried,
)
from analysis.works.differences import changed_options
from analysis.works.runs import PastRun
from jobs.sbatch import READING_ORDER, OptionChange
from reports.request_diff import DiffLine, added_lines

Advice = Sequence[tuple[Sequence[OptionChange], Options]]


@dataclass(frozen=True)
class BestKnown:
    """`lines` are the whole request; `changes` what the report of `run` suggests and the lines already have.

    `is_own` says whether these are the person's own options; `was_tried` that what the report suggests was tried
    before and is not the cheapest; `is_new` that no run had this request: more than its time limit is new.
    `without_gpu_use` completed runs used no GPU and were left out; `other` is the latest completed run where it is one
    of these and its own report suggests another request, which the dashboard offers.
    """

    run: PastRun
    lines: tuple[DiffLine, ...]
    changes: tuple[str, ...]
    gpu_hours: float
    completed: int
    requests: int
    is_own: bool
    was_tried: bool
    without_gpu_use: int
    other: PastRun | None = None

    @property
    def options(self) -> list[str]:
        """The whole request as options."""
        return [line.text.removeprefix("#SBATCH ") for line in self.lines]

    @property
    def is_new(self) -> bool:
        return any(not change.split(" -> ")[-1].startswith("--time") for change in self.changes)


def best_known(runs: Sequence[PastRun], advice_of: Callable[[int], Advice]) -> BestKnown | None:
    """The best request of these runs with the advice on its latest run made; None where no request is known."""
    best = best_request(runs)
    if best is None:
        return None
    request, tried = options_of(best.run), was_tried(best.run, runs)
    wanted = request if tried else advised(request, advice_of(best.run.pk))
    return BestKnown(
        run=best.run,
        lines=added_lines(lines_of(wanted)),
        changes=changed_options(request, wanted),
        gpu_hours=best.gpu_hours,
        completed=best.completed,
        requests=best.requests,
        is_own=is_spelling_known(best.run),
        was_tried=tried,
        without_gpu_use=best.without_gpu_use,
        other=_other(runs, wanted, advice_of) if best.without_gpu_use else None,
    )


def without_time(trial: PastRun | None) -> Options:
    """The lines of a trial's request without its time limit, which is short on purpose."""
    options = options_of(trial) if trial else {}
    # PostgreSQL stores the options of a run in an order of its own.
    return lines_of({option: options[option] for option in READING_ORDER if option in options and option != "--time"})


def _other(runs: Sequence[PastRun], wanted: Mapping[str, str], advice_of: Callable[[int], Advice]) -> PastRun | None:
    """The latest completed run, if it used no GPU and its report suggests something else; `runs` are latest first."""
    latest = next(run for run in runs if run.is_comparable)
    if not is_without_gpu_use(latest):
        return None
    advice = advice_of(latest.pk)
    return latest if advice and advised(options_of(latest), advice) != wanted else None
