"""The read API: jobs a person may see, their GPUs, their reports, and their raw samples as CSV."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

import msgspec
import numpy as np
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from numpy.typing import NDArray
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from analysis.efficiency import EfficiencyClass
from analysis.history.periods import last_days
from analysis.rollups.selectors import site_now
from jobs.models import Job, User
from jobs.selectors import (
    LatestFirst,
    Reach,
    counted_senders,
    jobs_within,
    keys_of_any,
    latest_own_run,
    reach_of,
    record_of,
    visible_jobs,
)
from metrics.selectors import Key, RawSamples, gpu_rows, raw_windows, raw_windows_held
from portal.access import open_report, open_run, or_404, owner_for, person
from portal.api.asked import DAYS_MAX, asked_choice, asked_job_id, asked_number, asked_works
from portal.api.bases import Download
from portal.api.rate_limits import Downloads
from portal.charts.run_classes import OPEN, UNKNOWN, class_for_programs, has_class
from portal.charts.work_requests import of_whole_work
from portal.downloads import attachment, streamed
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS, rendered
from wire.csv_cells import csv_lines
from wire.report_columns import COLUMNS, COLUMNS_MIN

EFFICIENCY_IN_LISTS = ("efficiency_class", "avg_gpu_util", "coverage_fraction", "gpu_hours", "wasted_gpu_hours")

NARROWING = ("own", "days", "work", "class", "sort", "job_id")
WASTED = "efficiency__wasted_gpu_hours"
ORDERS = {"latest": ("-ended_at", "-pk"), "wasted": (f"-{WASTED}", "-pk")}

SAMPLE_COLUMNS = ("node", "gpu_id", "at", "util_percent", "mem_gb")


class Jobs(ListAPIView):
    """`GET /api/v1/jobs/`: the record and the class of each run, newest first unless the address asks otherwise."""

    def list(self, request: Request) -> Response:
        # The paginator asks for a length and slices only.
        runs: Any = asked_jobs(request, person(request))
        page = self.paginate_queryset(runs) or ()
        return self.get_paginated_response([_listed(run) for run in page])


class JobDetail(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/`: the report as data, or only the record while there is no report."""

    def get(self, request: Request, cluster: str, job_id: int) -> Response:
        return _report(open_run(request, cluster, job_id))


class LatestJob(APIView):
    """`GET /api/v1/jobs/latest/`: the same of one's own run that ended last, of the work in `?work=` if any.

    With `of_work`: what its work as a whole suggests, where that is another number of GPUs.
    """

    def get(self, request: Request) -> Response:
        user = person(request)
        run = or_404(latest_own_run(user, asked_works(request, user)), "There is no such job here.")
        answer = _report(run)
        of_work = of_whole_work(run, visible_jobs(user), site_now()) if hasattr(run, "efficiency") else ""
        return Response(answer.data | {"of_work": of_work})


class JobGpus(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/gpus/`: the measured columns of each GPU."""

    def get(self, request: Request, cluster: str, job_id: int) -> Response:
        run = open_run(request, cluster, job_id)
        return Response(gpu_rows((run.cluster, run.job_id, run.attempt), counted_senders(run)))


class JobReportFile(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/report.{html,md,txt,pdf,json}`: the report as a file."""

    def get_throttles(self) -> list[BaseThrottle]:
        form = FORMATS.get(self.kwargs["name"])
        return [*super().get_throttles(), *([Downloads()] if form and form.is_illustrated else [])]

    def get(self, request: Request, cluster: str, job_id: int, name: str) -> HttpResponse:
        if name not in FORMATS:
            raise Http404(f"A report format must be one of {', '.join(FORMATS)}.")
        run, row = open_report(request, cluster, job_id)
        content = rendered(run, row, name, owner_for(request, run), **_wanted(request, name))
        return attachment(content, f"kaiku-{run.cluster}-{run.job_id}.{name}", FORMATS[name].content_type)


def _wanted(request: Request, name: str) -> dict[str, int]:
    """The width of the report as text; other formats have none."""
    if name == "txt":
        return {"width": asked_number(request, "width", COLUMNS, COLUMNS, COLUMNS_MIN)}
    if "width" in request.query_params:
        raise ValidationError("width applies to report.txt alone.")
    return {}


def _report(run: Job) -> Response:
    row = report_row(run)
    if row is None:
        return Response({"job": _record(run), "efficiency": None, "is_told_by_owner": run.is_told_by_owner})
    return Response(msgspec.to_builtins(report_value(row)))


def _record(run: Job) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(record_of(run))
    return record


def _listed(run: Job) -> dict[str, Any]:
    judged = getattr(run, "efficiency", None)
    efficiency = {name: getattr(judged, name) for name in EFFICIENCY_IN_LISTS} if judged else None
    if efficiency:
        efficiency["efficiency_class"] = class_for_programs(run)
    return _record(run) | {"is_told_by_owner": run.is_told_by_owner, "efficiency": efficiency}


@dataclass(frozen=True)
class NarrowedJobs:
    """The visible jobs that fit some conditions, for a paginator: their number, and a slice of them in an order."""

    reach: Reach
    is_own: bool
    conditions: Q
    order: tuple[str, ...]
    ordered = True

    def count(self) -> int:
        parts = [self.reach.own] if self.is_own else self.reach.parts()
        return sum(Job.objects.filter(part & self.conditions).count() for part in parts)

    def __getitem__(self, stretch: slice) -> QuerySet[Job]:
        parts: Sequence[Q] = [self.reach.own] if self.is_own else self.reach.sorted_parts()
        runs = Job.objects.order_by(*self.order)
        keys = keys_of_any(runs.filter(part & self.conditions)[: max(stretch.stop, 1)] for part in parts)
        found = jobs_within(self.reach).filter(pk__in=keys).select_related("efficiency")
        return found.order_by(*self.order)[stretch]


def asked_jobs(request: Request, user: User) -> LatestFirst | NarrowedJobs:
    """What `?own=`, `days=`, `work=`, `class=`, `job_id=` and `sort=` leave of the visible jobs; ValidationError."""
    reach = reach_of(user)
    if not any(name in request.query_params for name in NARROWING):
        return LatestFirst(reach)
    order = asked_choice(request, "sort", tuple(ORDERS), "latest")
    is_own = asked_choice(request, "own", ("0", "1"), "0") == "1"
    conditions = Q(**{f"{WASTED}__isnull": False}) if order == "wasted" else Q()
    if "days" in request.query_params:
        days = asked_number(request, "days", DAYS_MAX, DAYS_MAX)
        conditions &= Q(ended_at__gte=last_days(site_now(), days).start)
    if "job_id" in request.query_params:
        conditions &= Q(job_id=asked_job_id(request))
    works = asked_works(request, user)
    if works is not None:
        conditions &= Q(work_key__in=works)
    return NarrowedJobs(reach, is_own, conditions & _of_class(request), ORDERS[order])


def _of_class(request: Request) -> Q:
    """The runs of the asked class as programs read it: UNKNOWN also where the use is not judged."""
    name = asked_choice(request, "class", [kind.value for kind in EfficiencyClass], "")
    if not name:
        return Q()
    return has_class(UNKNOWN) | has_class(OPEN) if name == UNKNOWN else has_class(name)


class JobRawSamples(Download):
    """`GET /api/v1/jobs/{cluster}/{job_id}/raw-samples.csv`: 404 if there are none, the same as for a stranger.

    The site's samples of a run that only its owner reported are shown to nobody until the site states whose run it is.
    """

    def get(self, request: Request, cluster: str, job_id: int) -> StreamingHttpResponse:
        run = open_run(request, cluster, job_id)
        key = (run.cluster, run.job_id, run.attempt)
        if run.is_told_by_owner or raw_windows_held(key) is None:
            raise Http404("There are no raw samples of this job.")
        return streamed(_sample_parts(key), f"kaiku-{run.cluster}-{run.job_id}-raw-samples.csv")


def _sample_parts(key: Key) -> Iterator[str]:
    """The head, then one GPU after another: only the samples of a few nodes are in memory at a time."""
    yield "".join(csv_lines([SAMPLE_COLUMNS]))
    for window in raw_windows(key):
        ats = [_instant(window, at_s) for at_s in window.at_s.tolist()]
        for place, gpu_id in enumerate(window.gpu_ids):
            columns = (ats, _shown(window.util[:, place]), _shown(window.mem_gb[:, place]))
            yield "".join(csv_lines((window.node, gpu_id, *cells) for cells in zip(*columns, strict=True)))


def _instant(window: RawSamples, at_s: float) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    at = window.started_at.astimezone(UTC) + timedelta(seconds=at_s)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(samples: NDArray[np.float32]) -> list[str]:
    """Each sample with no more digits than it has, a gap as an empty field; never a negative number or negative
    zero."""
    return ["" if np.isnan(sample) else str(np.abs(sample)) for sample in samples]
