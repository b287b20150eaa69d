"""One work: every run of the same program of one person in one project, and what they say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.comparable import SAME_WORK_MAX
from analysis.history.periods import DAYS_OFFERED, last_days
from analysis.history.selectors import days_and_trend
from analysis.history.sums import overview_of, steps_of, trend_of
from analysis.models import JobEfficiency
from analysis.outcomes.selectors import OUTCOMES_SHOWN, outcomes_of_work, saved_by_work
from analysis.predictions.selectors import checked_of_work, known_of_methods
from analysis.rollups.selectors import Part, site_now
from analysis.scaling import scaling
from analysis.thresholds import LIMITS
from analysis.works.differences import OptionRow, changes_between
from analysis.works.failure_sizes import failure_sizes
from analysis.works.failures import failures
from analysis.works.patterns import patterns
from analysis.works.runs import PastRun
from analysis.works.selectors import RUNS_MAX, advice_of, judgements_of, past_runs_of_work
from jobs.models import Job
from jobs.work_key import without_trial
from portal.access import person, signed_in_page, work_and_latest
from portal.charts.advice_outcomes import outcome_rows
from portal.charts.best_known import best_known, deciding_trial, origin_of, without_time
from portal.charts.history import charts
from portal.charts.predictions import next_run_texts, work_rows
from portal.charts.run_classes import OPEN, SHOWN_NAMES, UNKNOWN, class_of
from portal.charts.typical_run import failure_list, typical, unused_text
from portal.pages.work.scale_charts import cut_trials, left_out, scale_charts
from reports.request_diff import added_lines
from reports.work_texts import best_request_text

WINDOW_DAYS = 365
CHARTS_SHOWN = ("classes", "median")

PAGE_SIZE = 25


@signed_in_page
def work(request: HttpRequest, key: str) -> HttpResponse:
    """The page of the work with this key, for its owner and the PI of its project; Http404 for everybody else."""
    of_owner, latest = work_and_latest(request, key)
    now = site_now()
    period = last_days(now, WINDOW_DAYS)
    runs = past_runs_of_work(of_owner.filter(ended_at__gte=period.start), key)
    context = {
        "latest": latest,
        "name": without_trial(latest.job_name),
        "is_owner": latest.user_id == person(request).pk,
        "days": WINDOW_DAYS,
        "runs": runs,
        "runs_max": RUNS_MAX,
        "is_cut": len(runs) == RUNS_MAX,
        "told_by_owner": sum(run.is_told_by_owner for run in runs),
        "short_minutes": LIMITS.short_job_s / 60,
        **_measured(runs),
        **_over_time(latest, runs, now),
        "page": run_page(runs, request.GET.get("page", "")),
        **_advice(latest, period.start),
        "unused": unused_text(runs),
        "failures": failure_list(failures(runs), failure_sizes(runs)),
        "typical": typical(patterns(runs)),
        "next_run": next_run_texts(runs, known_of_methods(), now),
        "predictions": work_rows(checked_of_work(latest.user_id, key)),
    }
    return render(request, "portal/work/work.html", context)


def _advice(latest: Job, since: datetime) -> dict[str, Any]:
    """What became of the advice on this work, the latest first, and what following it saved."""
    rows = outcomes_of_work(latest.user_id, latest.work_key, since)[: OUTCOMES_SHOWN + 1]
    shown = outcome_rows(rows)
    return {
        "outcomes": shown[:OUTCOMES_SHOWN],
        "has_more_outcomes": len(shown) > OUTCOMES_SHOWN,
        "saved": saved_by_work(latest.user_id, latest.work_key),
    }


def _measured(runs: list[PastRun]) -> dict[str, Any]:
    """The best known request and how the work scales."""
    scaled, best = scaling(runs), best_known(runs, advice_of)
    return {
        "best": best,
        "best_text": best_request_text(origin_of(best)) if best else "",
        "scaled": scaled,
        "scale_charts": scale_charts(scaled),
        "left_out": left_out(scaled),
        "cut_trials": cut_trials(scaled),
        "trial_request": added_lines(without_time(deciding_trial(runs, scaled))),
        "target_percent": LIMITS.target_percent,
        "same_work_max": SAME_WORK_MAX,
    }


def _over_time(latest: Job, runs: list[PastRun], now: datetime) -> dict[str, Any]:
    """Sums, trend and charts of the judged runs, over as many days as they reach back."""
    oldest = runs[-1].ended_at if runs else now
    days = next(days for days in DAYS_OFFERED if days == WINDOW_DAYS or oldest >= last_days(now, days).start)
    period = last_days(now, days)
    columns = days_and_trend([Part(user=latest.user_id, work_key=latest.work_key)], period)
    drawn = charts(steps_of(columns, period), period.step)
    return {
        "charted_days": days,
        "sum": overview_of(columns, period),
        "trend": trend_of(columns, now),
        "charts": [chart for chart in drawn if chart.key in CHARTS_SHOWN],
    }


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
