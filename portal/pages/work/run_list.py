"""The runs of a work in time, the latest first, a page at a time, each with what changed from the run before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from analysis.models import JobEfficiency
from analysis.works.differences import OptionRow, changes_between
from analysis.works.runs import PastRun
from analysis.works.selectors import judgements_of
from portal.charts.run_classes import OPEN, SHOWN_NAMES, UNKNOWN, class_of

PAGE_SIZE = 25


@dataclass(frozen=True)
class RunRow:
    """One run with its judgement; `changes` are the options that differ, None where they are not known.

    `before` is the run that they are against, None for the first one.
    """

    run: PastRun
    before: PastRun | None
    changes: tuple[OptionRow, ...] | None
    judged: JobEfficiency | None

    @property
    def badge(self) -> tuple[str, str]:
        """The class as a style and as people read it; of a run that is not judged that of Unknown."""
        if self.judged is None:
            return "", ""
        shown = class_of(self.judged)
        return (UNKNOWN if shown == OPEN else shown).lower(), SHOWN_NAMES[shown]


@dataclass(frozen=True)
class RunPage:
    """One page of the runs and the numbers of the pages around it."""

    rows: tuple[RunRow, ...]
    pages: Page


def run_page(runs: Sequence[PastRun], number: str) -> RunPage:
    """This page of the runs (the latest first), the nearest one where there is no such page: one query."""
    paginator = Paginator(range(len(runs)), PAGE_SIZE)
    page = paginator.get_page(number)
    places = list(page.object_list)
    judged = judgements_of([runs[place].pk for place in places])
    return RunPage(tuple(_row(runs, place, judged) for place in places), page)


def _row(runs: Sequence[PastRun], place: int, judged: dict[int, JobEfficiency]) -> RunRow:
    run = runs[place]
    before = runs[place + 1] if place + 1 < len(runs) else None
    changes = changes_between(before, run) if before else ()
    return RunRow(run, before, changes, judged.get(run.pk))
