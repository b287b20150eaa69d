"""One work: every run of the same program of one person in one project, and what they say together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.comparable import SAME_WORK_MAX
from analysis.history.periods import DAYS_OFFERED, last_days
from analysis.history.selectors import days_and_trend
from analysis.history.sums import overview_of, steps_of, trend_of
from analysis.outcomes.selectors import OUTCOMES_SHOWN, outcomes_of_work, saved_by_work
from analysis.predictions.selectors import checked_of_work, known_of_methods
from analysis.rollups.selectors import Part, site_now
from analysis.scaling import scaling
from analysis.thresholds import LIMITS
from analysis.works.failure_sizes import failure_sizes
from analysis.works.failures import failures
from analysis.works.patterns import patterns
from analysis.works.runs import PastRun
from analysis.works.selectors import RUNS_MAX, advice_of, past_runs_of_work
from jobs.models import Job
from jobs.selectors import visible_jobs
from jobs.work_key import without_trial
from portal.access import person
from portal.charts.advice_outcomes import outcome_rows
from portal.charts.best_known import best_known, deciding_trial, origin_of, without_time
from portal.charts.failure_list import failure_list
from portal.charts.history import charts
from portal.charts.predictions import next_run_texts, work_rows
from portal.charts.typical_run import typical, unused_text
from portal.pages.work.run_list import run_page
from portal.pages.work.scale_charts import cut_trials, left_out, scale_charts
from reports.request_diff import added_lines
from reports.work_texts import best_request_text

WINDOW_DAYS = 365
CHARTS_SHOWN = ("classes", "median")


@require_GET
@login_required
def work(request: HttpRequest, key: str) -> HttpResponse:
    """The page of the work with this key, for its owner and the PI of its project; Http404 for everybody else."""
    visible = visible_jobs(person(request))
    latest = visible.filter(work_key=key).order_by("-ended_at", "-pk").first()
    if latest is None:
        raise Http404("There is no such work here.")
    now = site_now()
    period = last_days(now, WINDOW_DAYS)
    of_owner = visible.filter(user=latest.user_id)
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
