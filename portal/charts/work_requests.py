"""The requests of several works at once: for the pages and calls that list works with open savings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.urls import reverse

from analysis.history.open_savings import WorkSaving
from analysis.models import JobEfficiency
from analysis.works.best_request import Options, best_request, gpus_of_work, needed_gpus
from analysis.works.runs import PastRun
from analysis.works.selectors import advice_in, judgements_with_advice, latest_runs_of_works
from jobs.models import Job
from portal.charts.advice_lines import advice_lines
from portal.charts.best_known import BestKnown, best_known, origin_of
from reports.advice import ADVICE_TITLES
from reports.insight_texts import mixed_text, would_save_text
from reports.work_texts import reason_text, whole_work_text


@dataclass(frozen=True)
class WorkRequest:
    """What to change for one work with open savings: `diff` of the request of its latest run, or `block`, the whole.

    Both are empty where the latest run requested it already, or where the request of the work stays as it is. `run` is
    the one that it follows from, and `reason` says why; `text` is what is open. `is_mixed`: some of the reports suggest
    another number of GPUs. `fewer_gpus` is how many it has in all; None where it has as many as the latest run.
    """

    saving: WorkSaving
    run: Job
    diff: Options
    block: Options
    title: str
    reason: str
    text: str
    is_mixed: bool = False
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
    """The requests of these works, in this order: two queries, and one for each work."""
    runs = latest_runs_of_works(Job.objects.filter(own), [saving.work for saving in savings], now)
    found = {key: best for key, latest in runs.items() if (best := best_request(latest)) is not None}
    # Of a work of which no run can be compared the latest report alone is known.
    pks = [best.run.pk for best in found.values()] + [saving.latest_pk for saving in savings]
    judged = judgements_with_advice(pks)
    made = (_request(saving, runs.get(saving.work, []), judged) for saving in savings)
    # A run may be judged again, or go, between two queries.
    return [request for request in made if request is not None]


def _request(saving: WorkSaving, runs: Sequence[PastRun], judged: Mapping[int, JobEfficiency]) -> WorkRequest | None:
    best = best_known(runs, lambda pk: advice_in(judged[pk]) if pk in judged else [])
    latest = judged.get(saving.latest_pk)
    report = latest if best is None or best.best is None else judged.get(best.run.pk)
    if report is None or latest is None:
        return None
    if best is None:
        diff, block = advice_lines(list(report.recommendations.all()))
    elif not _saves(best, runs):
        diff, block = (), ()
    else:
        diff, block = best.script, () if best.script or best.is_requested else best.options
    title = _title(report if best is None or best.changes else latest) if diff or block else ""
    text = would_save_text(title, saving.gpu_hours, saving.jobs)
    is_mixed = best is not None and bool(set(saving.advised_gpus) - {best.gpus})
    reason = reason_text(origin_of(best)) if best else ""
    if is_mixed:
        reason = f"{mixed_text(saving.advised_gpus)} {reason}"
    gpus = best.gpus if best else _advised_gpus(report)
    fewer_gpus = gpus if gpus is not None and gpus < _had(runs) else None
    return WorkRequest(saving, report.job, diff, block, title, reason, text, is_mixed, fewer_gpus)


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
