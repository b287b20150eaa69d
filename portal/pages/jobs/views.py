"""Jobs: the runs a person may see, narrowed and sorted by what stands in the address.

One road: what is offered to this person, the form that reads the address, the query that it asks, the rows it leaves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.works.selectors import PIPELINE_DAYS
from jobs.models import Job
from jobs.saved_filters.models import FILTER_NAME_LENGTH_MAX
from jobs.saved_filters.selectors import own_filters
from portal.access import person, signed_in_page
from portal.charts.run_classes import SHOWN_CLASS
from portal.charts.running import FEW_MAX, running_jobs
from portal.downloads import streamed
from portal.pages.jobs.chips import chips, ignored, saved_chips
from portal.pages.jobs.choices import Choices, offered_to
from portal.pages.jobs.forms import JobFilterForm
from portal.pages.jobs.orders import SORTS
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.rows import first_keys, job_page
from portal.pages.jobs.saved import TAKEN, TYPED, name_once
from portal.pages.jobs.works import pipeline_rows, work_page
from portal.rate_limits import DOWNLOADS, limited
from wire.csv_cells import csv_lines

CSV_COLUMNS = {
    "cluster": "cluster",
    "job_id": "job_id",
    "attempt": "attempt",
    "job_name": "job_name",
    "user": "user__username",
    "project": "project__name",
    "partition": "partition",
    "state": "state",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "run_time_s": "walltime_used_s",
    "gpus": "gpus_allocated",
    "class": "shown_class",
    "avg_gpu_util_percent": "efficiency__avg_gpu_util",
    "gpu_hours": "efficiency__gpu_hours",
    "wasted_gpu_hours": "efficiency__wasted_gpu_hours",
    "coverage_fraction": "efficiency__coverage_fraction",
    "reported_by_owner_only": "is_told_by_owner",
}
CHUNK_ROWS, FIRST_ROWS = 1000, 100


@signed_in_page
def my_jobs(request: HttpRequest) -> HttpResponse:
    """Own jobs and those of projects this person leads, a page at a time; an array is one row."""
    form, query = _asked(request)
    choices, leads = query.choices, bool(query.reach.led)
    context = {
        "form": form,
        "choices": choices,
        "chips": chips(form, choices),
        "ignored": ignored(form),
        "saved": saved_chips(own_filters(person(request)), choices),
        "taken_name": name_once(request, TAKEN, choices),
        "typed_name": name_once(request, TYPED, choices),
        "name_length_max": FILTER_NAME_LENGTH_MAX,
        "heads": heads(choices, has_owner=leads),
        "leads": leads,
        "running": running_jobs(query.reach, timezone.now(), FEW_MAX),
        **_list(query, request),
    }
    return render(request, "portal/jobs/jobs.html", context)


def _list(query: JobQuery, request: HttpRequest) -> dict[str, Any]:
    """The page of the works or of the jobs; `shown` is either, None where it is empty."""
    if query.choices.group:
        works = work_page(query, request.GET.get("page", ""))
        pipelines = [] if query.choices.narrowing else pipeline_rows(query.reach, timezone.now())
        return {"works": works, "shown": works if works.rows else None, "pipelines": pipelines, "days": PIPELINE_DAYS}
    page = job_page(query, request.GET)
    has_tasks = any(row.run.array_job_id is not None for row in page.runs)
    return {
        "page": page,
        "shown": page if page.runs else None,
        "shows_tasks": has_tasks and not query.folds_arrays and not query.choices.array,
    }


@signed_in_page
@limited(DOWNLOADS)
def jobs_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Every run that the same address shows on the page, row by row."""
    _, query = _asked(request)
    return streamed(csv_of(query), "kaiku-jobs.csv")


def _asked(request: HttpRequest) -> tuple[JobFilterForm, JobQuery]:
    """The form as the address fills it in, and the query that it makes."""
    offered = offered_to(person(request), request.GET)
    form = JobFilterForm(request.GET, offered)
    return form, JobQuery(person(request), offered, form.choices(), timezone.localtime())


def csv_of(query: JobQuery) -> Iterator[str]:
    """Every run that is left, row by row, below the names of the columns.

    What is asked is settled before the answer begins: its days are those of the reader, whose zone ends with the call.
    The first rows come at once, in the order of an index, as the first page of the list does. All others are read from
    one snapshot that leaves those out: the database puts many thousand rows in order before it gives the first of them.
    So each run is listed once, whatever arrives or changes meanwhile; what arrives between the two stands behind them.
    """
    runs = query.runs().annotate(shown_class=SHOWN_CLASS)
    return csv_lines(chain([CSV_COLUMNS], _rows(runs, first_keys(query, FIRST_ROWS))))


def _rows(runs: QuerySet[Job], first: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    yield from runs.filter(pk__in=first).values_list(*CSV_COLUMNS.values())
    yield from runs.exclude(pk__in=first).values_list(*CSV_COLUMNS.values()).iterator(chunk_size=CHUNK_ROWS)


@dataclass(frozen=True)
class HeadLine:
    """One of the numbers in a column; `address` is empty where nothing sorts by it."""

    label: str
    address: str
    is_chosen: bool


@dataclass(frozen=True)
class Head:
    """One column with its lines; `direction` is empty where the list is not sorted by any of them."""

    css_class: str
    lines: tuple[HeadLine, ...]
    direction: str


JOB_COLUMNS = (
    ("", (("Job", ""),)),
    ("", (("Owner", ""),)),
    ("", (("Ended", "ended"), ("after a run time of", "runtime"))),
    ("number", (("GPUs", "gpus"),)),
    ("", (("Mean GPU use", "use"),)),
    ("", (("Finding", "finding"),)),
    ("number", (("Unused GPU-hours", "wasted"), ("of GPU-hours", "hours"))),
    ("", (("Class", "class"),)),
)
"""Style, and label and order of each line."""


WORK_COLUMNS = (
    ("", (("Work", ""),)),
    ("", (("Owner", ""),)),
    ("number", (("Jobs", "jobs"),)),
    ("", (("Last ended", "ended"),)),
    ("", (("Most frequent finding", ""),)),
    ("number", (("Unused GPU-hours", "wasted"), ("and used ones", "hours"))),
    ("", (("Classes", ""),)),
)
"""The same of the list by work."""


def heads(choices: Choices, *, has_owner: bool) -> Iterator[Head]:
    """The heads from left to right."""
    for css_class, lines in WORK_COLUMNS if choices.group else JOB_COLUMNS:
        if has_owner or lines[0][0] != "Owner":
            shown = tuple(
                HeadLine(label, choices.sorted_by(order) if order else "", bool(order) and order == choices.order)
                for label, order in lines
            )
            is_sorted = any(line.is_chosen for line in shown)
            is_descending = choices.group or SORTS[choices.order].is_descending
            yield Head(css_class, shown, ("descending" if is_descending else "ascending") if is_sorted else "")
