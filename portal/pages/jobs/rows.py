"""One page of the Jobs list, read where it begins: no page costs more for standing far behind the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import QuerySet

from analysis.findings import FindingCode
from jobs.models import Job
from jobs.notes.selectors import tags_by_run
from jobs.records import ENDED_STATES
from jobs.selectors import jobs_within, keys_of_any
from portal.charts.run_classes import OPEN, SHOWN_NAMES, shown_class
from portal.pages.jobs.arrays import Tasks, array_url, stands_for_its_array, tasks_of
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.sorts import JUDGED, Place, Stretch
from reports.services.links import finding_url, job_url, run_key
from reports.wording import TITLES

PAGE_SIZE = 25
COUNTED_MAX = 1000
PLACES = ("after", "before")
NOT_SHOWN = ("nodes", "request", "efficiency__savings", "efficiency__not_measured")
"""Columns of JSON, which take longer to read than all others of a row."""


@dataclass(frozen=True)
class FirstFinding:
    """The title of a finding, where the job's page explains it, and how many more there are."""

    title: str
    url: str
    more: int


@dataclass(frozen=True)
class ListedRun:
    """A run with the address of its page, the name it is `compared_as`, and the reader's `own_tags` of it.

    `tasks` is None but where the run stands for its array.
    """

    run: Job
    url: str
    compared_as: str
    own_tags: Sequence[str]
    tasks: Tasks | None
    first_finding: FirstFinding | None
    shown_class: str

    @property
    def class_name(self) -> str:
        """The class as people read it; empty while the run is not analysed."""
        return SHOWN_NAMES.get(self.shown_class, "")

    @property
    def is_open(self) -> bool:
        """Whether it was measured, but is not judged."""
        return self.shown_class == OPEN

    @property
    def array_url(self) -> str:
        """The tasks of the array that this task is of."""
        return array_url(self.run)

    @property
    def has_ended(self) -> bool:
        return self.run.ended_at is not None or self.is_end_known

    @property
    def is_end_known(self) -> bool:
        """Whether Slurm reports a state in which a job has ended: no other run is analysed."""
        return self.run.state in ENDED_STATES


@dataclass(frozen=True)
class JobPage:
    """Runs, and the addresses of the pages around them.

    `count` is the number of all runs that are asked for, tasks too, as far as they are counted.
    """

    runs: list[ListedRun]
    previous: str
    next: str
    count: int

    @property
    def is_more(self) -> bool:
        """Whether there are more runs than were counted."""
        return self.count > COUNTED_MAX

    @property
    def counted(self) -> int:
        return min(self.count, COUNTED_MAX)


def job_page(query: JobQuery, address: Mapping[str, str]) -> JobPage:
    """The page that begins `after` a place in the order, or ends `before` one; the first if no place makes sense."""
    after, before = (query.sort.place(address.get(name, "")) for name in PLACES)
    is_backward = before is not None and after is None
    found = _places(query, after or before, PAGE_SIZE + 1, is_backward=is_backward)
    if (is_backward and len(found) <= PAGE_SIZE) or (after and not found):
        # The first runs, and the first page is a full one; or a place behind the last of them.
        after, is_backward = None, False
        found = _places(query, None, PAGE_SIZE + 1, is_backward=False)
    shown = found[:PAGE_SIZE]
    has_more = len(found) > PAGE_SIZE
    if is_backward:
        shown.reverse()
    has_previous, has_next = (has_more, True) if is_backward else (after is not None, has_more)
    runs = _runs(query, [place.pk for place in shown])
    return JobPage(
        runs=runs,
        previous=_turned(query, before=shown[0]) if shown and has_previous else "",
        next=_turned(query, after=shown[-1]) if shown and has_next else "",
        count=_count(query) if has_previous or has_next else sum(row.tasks.count if row.tasks else 1 for row in runs),
    )


def _turned(query: JobQuery, **place: Place) -> str:
    """The address of another page of the same list."""
    turned = urlencode({name: where.text for name, where in place.items()})
    return f"{query.choices.address}&{turned}" if query.choices.address else turned


def first_keys(query: JobQuery, count: int) -> list[int]:
    """The keys of the first runs in the chosen order, of an array each task."""
    return [place.pk for place in _places(query, None, count, is_backward=False, folds_arrays=False)]


def _places(
    query: JobQuery, place: Place | None, count: int, *, is_backward: bool, folds_arrays: bool = True
) -> list[Place]:
    """The places of so many runs behind this one or before it; the first ones without a place."""
    found: list[Place] = []
    for stretch in query.sort.stretches(place, is_backward=is_backward, is_judged=query.choices.is_judged):
        runs = _folded(query, stretch.table) if folds_arrays else Job.objects.filter(query.conditions(stretch.table))
        if len(found) < count:
            found += _first_places(query, runs, stretch, count - len(found))
    return found


def _first_places(query: JobQuery, runs: QuerySet[Job], stretch: Stretch, wanted: int) -> list[Place]:
    """The first places of these runs in a stretch: the first of each part in its order, and of these the first."""
    asked_for = runs.filter(stretch.runs)
    firsts = (asked_for.filter(part).order_by(*stretch.order)[:wanted] for part in query.sorted_parts(stretch.table))
    found = Job.objects.filter(pk__in=keys_of_any(firsts)).order_by(*stretch.order)[:wanted]
    if not stretch.column:
        return [Place(stretch.value, pk) for pk in found.values_list("pk", flat=True)]
    return [Place(*row) for row in found.values_list(stretch.column, "pk")]


def _folded(query: JobQuery, table: str) -> QuerySet[Job]:
    """The runs asked for, of each array one where arrays are rows."""
    asked_for = Job.objects.filter(query.conditions(table))
    return asked_for.filter(stands_for_its_array(_all_asked(query))) if query.folds_arrays else asked_for


def _all_asked(query: JobQuery) -> QuerySet[Job]:
    return Job.objects.filter(query.conditions())


def _runs(query: JobQuery, pks: list[int]) -> list[ListedRun]:
    """The runs of these keys in this order, through the door to everybody's jobs."""
    rows = jobs_within(query.reach).select_related("efficiency").defer(*NOT_SHOWN).in_bulk(pks)
    runs = [rows[pk] for pk in pks if pk in rows]
    tasks = tasks_of(runs, _all_asked(query)) if query.folds_arrays else {}
    tags = tags_by_run(runs, query.user)
    return [
        ListedRun(
            run,
            job_url(run),
            run_key(run),
            tags.get(run.pk, []),
            tasks.get(run.pk),
            _first_finding(run),
            shown_class(run),
        )
        for run in runs
    ]


def _first_finding(run: Job) -> FirstFinding | None:
    """What the report names first; None where it names nothing, or nothing that this version knows."""
    judged = getattr(run, "efficiency", None)
    codes = [code for code in judged.finding_codes.split() if code in TITLES] if judged else []
    return FirstFinding(TITLES[FindingCode(codes[0])], finding_url(run, codes[0]), len(codes) - 1) if codes else None


def _count(query: JobQuery) -> int:
    """How many runs are asked for, counted no further than one past `COUNTED_MAX`."""
    table = JUDGED if query.choices.is_judged else ""
    asked_for = Job.objects.filter(query.conditions(table))
    return sum(asked_for.filter(part)[: COUNTED_MAX + 1].count() for part in query.parts(table))
