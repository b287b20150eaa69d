"""The lines that may be shown when a job is submitted: a small list for the cache beside sbatch."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.history.periods import DAYS_OFFERED, last_days
from analysis.history.selectors import UnusedWork, savings_of_works, works_without_gpu_use
from analysis.rollups.selectors import site_now
from analysis.works.failures import EndedRun, repeated_failure
from jobs.models import Job, User
from jobs.work_key import normalised_name
from portal.access import person
from portal.api.asked import DAYS, asked_choice
from portal.api.insight_answers import HintAnswer, HintList
from portal.charts.work_requests import WorkRequest, work_requests
from reports.insight_texts import HINT_LINES_MAX, failure_hint, no_use_hint, saving_hint
from wire.work_names import TRIAL_MARK

HINTS_MAX, NAMES_MAX = 100, 20
RUNS_MAX = 2000
"""The latest runs of a person in which names and repeated failures are looked for."""

GPU_HOURS_MIN = 1.0
"""Less in all these days is not worth a line (as on the dashboard)."""

OFF_AT_THE_SITE = "This site shows no hints at sbatch."
OFF_BY_CHOICE = "Your settings on the portal switch them off (Settings, Appearance)."

DECIDED = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY")


@dataclass
class Named:
    """One work among the latest runs, the latest first."""

    cluster: str
    project: str
    names: dict[str, None] = field(default_factory=dict)
    runs: list[EndedRun] = field(default_factory=list)


class NamedPlace(NamedTuple):
    """A normalised name within a project of a cluster; empty where a name means nothing."""

    cluster: str
    project: str
    name: str


@dataclass(frozen=True)
class Wasting:
    """What runs of one work left unused in these days: open savings with their request, or no use of a GPU at all."""

    days: int
    request: WorkRequest | None
    unused: UnusedWork | None

    def lines(self, room: int) -> list[str]:
        """At most so many lines; none where nothing is unused."""
        if self.request is not None:
            written = self.request.diff or self.request.block
            return saving_hint(self.request.jobs, self.request.gpu_hours, written, self.days, room)
        if self.unused is not None:
            return no_use_hint(self.unused.runs, self.unused.of, self.unused.gpu_hours, self.days)
        return []

    @property
    def gpu_hours(self) -> float | None:
        """What the lines state."""
        stated = self.request or self.unused
        return stated.gpu_hours if stated else None

    @property
    def gpus(self) -> int | None:
        """The lines are for submissions with more GPUs than these; None for every one."""
        return self.request.fewer_gpus if self.request else 0 if self.unused else None


class Hints(APIView):
    """`GET /api/v1/hints/`: own works whose request wastes, or that fail the same way, of the last `?days=`."""

    def get(self, request: Request) -> Response:
        user = person(request)
        days = int(asked_choice(request, "days", [str(days) for days in DAYS_OFFERED], str(DAYS)))
        off = off_reason(user)
        answer = HintList(not off, timezone.now(), days, [] if off else hints_of(user, days), off)
        return Response(msgspec.to_builtins(answer))


def off_reason(user: User) -> str:
    """Why this person gets no hints at all, in one sentence; empty where they do."""
    if not settings.SBATCH_HINTS:
        return OFF_AT_THE_SITE
    return "" if user.shows_hints else OFF_BY_CHOICE


def hints_of(user: User, days: int) -> list[HintAnswer]:
    """The hints for one person, the most worth first: nine queries, and one for each work with a saving."""
    period, own = last_days(site_now(), days), Q(user=user.pk)
    named = _named_works(user, period.start)
    wasting = (each for each in savings_of_works(own, period, RUNS_MAX).works if each.gpu_hours >= GPU_HOURS_MIN)
    savings = [each for each in wasting if each.work in named]
    requests = work_requests(own, savings[:HINTS_MAX], period.end)
    saving = {each.saving.work: each for each in requests if each.is_change and each.gpu_hours >= GPU_HOURS_MIN}
    no_use = works_without_gpu_use(own, period)
    unused = {each.work: each for each in no_use if each.gpu_hours >= GPU_HOURS_MIN and not each.is_over}
    clear = {place: keys.pop() for place, keys in _keys_by_name(named).items() if len(keys) == 1 and place.name}
    found = [
        _hint(key, place.name, named[key], Wasting(days, saving.get(key), unused.get(key)))
        for place, key in clear.items()
    ]
    shown = [hint for hint in found if hint is not None]
    return sorted(shown, key=lambda hint: -(hint.worth_gpu_hours or 0.0))[:HINTS_MAX]


def _keys_by_name(named: Mapping[str, Named]) -> dict[NamedPlace, set[str]]:
    """The works that a name could mean: where there are several, `sbatch` could show the hint of another work."""
    found: dict[NamedPlace, set[str]] = defaultdict(set)
    for key, work in named.items():
        for name in work.names:
            found[NamedPlace(work.cluster, work.project, normalised_name(name))].add(key)
    return found


def _named_works(user: User, since: datetime) -> Mapping[str, Named]:
    """The works of the latest decided runs: one query."""
    runs = Job.objects.filter(user=user, ended_at__gte=since, state__in=DECIDED).exclude(work_key="")
    # Trials are short on purpose, and reaching their limit is no failure.
    runs = runs.exclude(job_name__contains=TRIAL_MARK)
    columns = ("work_key", "cluster", "project__name", "job_name", "state", "efficiency__finding_codes")
    rows: Iterable[tuple[str, ...]] = runs.order_by("-ended_at", "-pk").values_list(*columns)[:RUNS_MAX]
    found: dict[str, Named] = {}
    for key, cluster, project, name, state, codes in rows:
        work = found.setdefault(key, Named(cluster, project))
        work.names.setdefault(name)
        work.runs.append(EndedRun(state, codes or ""))
    return found


def _hint(key: str, name: str, work: Named, wasting: Wasting) -> HintAnswer | None:
    failed = repeated_failure(work.runs)
    failing = failure_hint(failed.how, failed.runs, failed.of) if failed else []
    lines = [*failing, *wasting.lines(HINT_LINES_MAX - len(failing))]
    if not lines:
        return None
    return HintAnswer(
        key=key,
        work_names=[name, *list(work.names)[: NAMES_MAX - 1]],
        cluster=work.cluster,
        project=work.project,
        lines=lines,
        worth_gpu_hours=wasting.gpu_hours,
        gpus=wasting.gpus,
        gpus_lines=len(lines) - len(failing),
    )
