"""The requests of several works at once: for the pages and calls that list works with open savings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db.models import Q, QuerySet
from django.urls import reverse

from analysis.history.open_savings import WorkSaving
from analysis.models import JobEfficiency, RecommendationRow
from analysis.savings import LinesSaving, lines_saving
from analysis.works.best_request import Options, advised, best_request, gpus_of_work, needed_gpus, options_of
from analysis.works.runs import PastRun
from analysis.works.selectors import (
    advice_in,
    expected_run_times_s,
    judgements_with_advice,
    latest_runs_of_works,
    past_runs,
)
from jobs.models import Job
from jobs.sbatch import OptionChange
from portal.charts.best_known import BestKnown, best_known, origin_of
from reports.advice import ADVICE_TITLES
from reports.insight_texts import mixed_text, would_save_text
from reports.work_texts import reason_text, whole_work_text


@dataclass(frozen=True)
class WorkRequest:
    """What to change for one work with open savings: `diff` of the request of its latest run, or `block`, the whole.

    Both are empty where the latest run requested it already, or where the request of the work stays as it is. `run` is
    the one that it follows from, and `reason` says why; `text` is what is open. `gpu_hours` are what exactly these
    lines would have saved in `jobs` runs, without lines what the reports of the runs of `saving` state. `fewer_gpus` is
    how many GPUs the lines request in all; None where these are as many as the latest run had.
    """

    saving: WorkSaving
    run: Job
    diff: Options
    block: Options
    title: str
    reason: str
    text: str
    gpu_hours: float
    jobs: int
    fewer_gpus: int | None = None

    @property
    def is_change(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.diff or self.block)


def job_label(run: Job) -> str:
    """What people call a run: its name, or its number where it has none."""
    return run.job_name or f"Job {run.job_id}"


def work_url(run: Job) -> str:
    """The page of all runs of the same work; empty where nothing names it."""
    return reverse("work", args=[run.work_key]) if run.work_key else ""


def work_requests(own: Q, savings: Sequence[WorkSaving], now: datetime) -> list[WorkRequest]:
    """The requests of these works, the most GPU-hours first: three queries, and one for each work.

    One more where there are more runs than the request of a work follows from.
    """
    runs = latest_runs_of_works(Job.objects.filter(own), [saving.work for saving in savings], now)
    found = {key: best for key, latest in runs.items() if (best := best_request(latest)) is not None}
    # Of a work of which no run can be compared the latest report alone is known.
    pks = [best.run.pk for best in found.values()] + [saving.latest_pk for saving in savings]
    judged, still_open = judgements_with_advice(pks), _open_runs(own, savings, runs)
    made = (_request(saving, runs.get(saving.work, []), judged, still_open) for saving in savings)
    # A run may be judged again, or go, between two queries.
    return sorted((request for request in made if request is not None), key=lambda each: -each.gpu_hours)


@dataclass(frozen=True)
class OpenRuns:
    """The runs whose savings are open, by key, and how long those take as suggested whose reports expect a change."""

    by_pk: Mapping[int, PastRun]
    expected_s: Mapping[int, float]

    def saved(self, saving: WorkSaving, request: Mapping[str, str]) -> LinesSaving | None:
        """What a request would have saved in the runs of one work."""
        return lines_saving([self.by_pk[pk] for pk in saving.pks if pk in self.by_pk], request, self.expected_s)


def _open_runs(own: Q, savings: Sequence[WorkSaving], runs: Mapping[str, Sequence[PastRun]]) -> OpenRuns:
    pks = [pk for saving in savings for pk in saving.pks]
    by_pk = {run.pk: run for latest in runs.values() for run in latest}
    if earlier := [pk for pk in pks if pk not in by_pk]:
        by_pk |= {run.pk: run for run in past_runs(Job.objects.filter(own, pk__in=earlier), len(earlier))}
    return OpenRuns(by_pk, expected_run_times_s(pks) if pks else {})


def _request(
    saving: WorkSaving, runs: Sequence[PastRun], judged: Mapping[int, JobEfficiency], still_open: OpenRuns
) -> WorkRequest | None:
    best = best_known(runs, lambda pk: advice_in(judged[pk]) if pk in judged else [])
    latest = judged.get(saving.latest_pk)
    report = latest if best is None or best.best is None else judged.get(best.run.pk)
    if report is None or latest is None:
        return None
    run = still_open.by_pk.get(saving.latest_pk)
    if best is None:
        diff, block = advice_lines(list(report.recommendations.all()))
        request = advised(options_of(run), advice_in(report)) if run else {}
    else:
        diff, block = (best.script, () if best.script or best.is_requested else best.options)
        request = dict(best.request)
    saved = still_open.saved(saving, request) if (diff or block) and (best is None or _saves(best, runs)) else None
    if saved is None:
        # What saves nothing that is known is not offered beside a sum.
        diff, block = (), ()
    title = _title(report if best is None or best.changes else latest) if saved else ""
    reason = reason_text(origin_of(best)) if best else ""
    if saved is None and best is not None and set(saving.advised_gpus) - {best.gpus}:
        reason = f"{mixed_text(saving.advised_gpus)} {reason}"
    hours, jobs = (saved.gpu_hours, saved.runs) if saved else (saving.gpu_hours, saving.jobs)
    gpus = best.gpus if best else _advised_gpus(report)
    fewer_gpus = gpus if gpus is not None and gpus < _had(runs) else None
    text = would_save_text(title, hours, jobs)
    return WorkRequest(saving, report.job, diff, block, title, reason, text, hours, jobs, fewer_gpus)


def _saves(best: BestKnown, runs: Sequence[PastRun]) -> bool:
    """Whether the request has fewer GPUs than the latest run, or as many with what its own report suggests."""
    had = _had(runs)
    return best.gpus < had or (best.gpus == had and best.is_new)


def _had(latest_first: Sequence[PastRun]) -> int:
    """The GPUs of the latest run of a work."""
    return next((run.gpus or 0 for run in latest_first if not run.is_trial), 0)


def _advised_gpus(report: JobEfficiency) -> int | None:
    """As many GPUs as a report suggests; None where it suggests no other number."""
    named = (row.recommended_gpus for row in report.recommendations.all())
    return next((gpus for gpus in named if gpus is not None), None)


def _title(report: JobEfficiency) -> str:
    advised = list(report.recommendations.all())
    return ADVICE_TITLES[advised[0].basis] if advised else ""


def of_whole_work(run: Job, visible: QuerySet[Job], now: datetime) -> str:
    """What the whole work of a run suggests where the run's own report suggests another number of GPUs, else nothing.

    One query, of the runs that the reader sees.
    """
    if not run.work_key:
        return ""
    runs = latest_runs_of_works(visible.filter(user=run.user_id), [run.work_key], now)[run.work_key]
    this, best = next((each for each in runs if each.pk == run.pk), None), best_request(runs)
    if this is None or best is None or this.is_trial:
        return ""
    gpus = gpus_of_work(best)
    return "" if gpus == needed_gpus(this) else whole_work_text(gpus, best.run.job_id, best.recent)


def advice_lines(advised: Sequence[RecommendationRow]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(Changes as text, block): the first block to write, or without one the changes of all pieces."""
    for row in advised:
        if row.request:
            return (), tuple(row.request)
    changes = [change for row in advised for change in msgspec.convert(row.changes, tuple[OptionChange, ...])]
    return tuple(map(str, changes)), ()
