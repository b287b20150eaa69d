"""One page of the Jobs list, read where it begins: no page costs more for standing far behind the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import QueryDict

from jobs.models import Job
from jobs.selectors import jobs_within, keys_of_any
from portal.pages.jobs.arrays import stands_for_its_array, tasks_of
from portal.pages.jobs.filter import JobFilter
from portal.pages.jobs.sorts import JUDGED, Place
from reports.services.links import job_url

PAGE_SIZE = 25
COUNTED_MAX = 1000
PLACES = ("after", "before")


@dataclass(frozen=True)
class JobPage:
    """Runs with their `url`, and `tasks` where one stands for an array; the addresses of the pages around it.

    `count` is the number of all runs that are asked for, tasks too, as far as they are counted.
    """

    runs: list[Job]
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


def job_page(form: JobFilter, address: QueryDict) -> JobPage:
    """The page that begins `after` a place in the order, or ends `before` one; the first if no place makes sense."""
    after, before = (form.chosen_sort.place(address.get(name, "")) for name in PLACES)
    is_backward = before is not None and after is None
    found = _places(form, after or before, is_backward=is_backward)
    if (is_backward and len(found) <= PAGE_SIZE) or (after and not found):
        # The first runs, and the first page is a full one; or a place behind the last of them.
        after, is_backward = None, False
        found = _places(form, None, is_backward=False)
    shown = found[:PAGE_SIZE]
    has_more = len(found) > PAGE_SIZE
    if is_backward:
        shown.reverse()
    chosen = chosen_address(address)
    has_previous, has_next = (has_more, True) if is_backward else (after is not None, has_more)
    runs = _runs(form, [place.pk for place in shown])
    return JobPage(
        runs=runs,
        previous=_turned(chosen, before=shown[0]) if shown and has_previous else "",
        next=_turned(chosen, after=shown[-1]) if shown and has_next else "",
        count=_count(form) if has_previous or has_next else sum(run.tasks.count if run.tasks else 1 for run in runs),
    )


def chosen_address(address: QueryDict) -> QueryDict:
    """What was chosen, without the place in the list and without empty choices."""
    chosen = QueryDict(mutable=True)
    for name, value in address.items():
        if value and name not in PLACES:
            chosen[name] = value
    return chosen


def _turned(chosen: QueryDict, **place: Place) -> str:
    return f"{chosen.urlencode()}&{_place_address(**place)}" if chosen else _place_address(**place)


def _place_address(**place: Place) -> str:
    turned = QueryDict(mutable=True)
    turned.update({name: where.text for name, where in place.items()})
    return turned.urlencode()


def _places(form: JobFilter, place: Place | None, *, is_backward: bool) -> list[Place]:
    """The places of one run more than a page holds, behind this one or before it; the first ones without a place."""
    found: list[Place] = []
    for has_value, begins in _stretches(form, place, is_backward=is_backward):
        wanted = PAGE_SIZE + 1 - len(found)
        if wanted > 0:
            found += _stretch(form, begins, wanted, has_value=has_value, is_backward=is_backward)
    return found


def _stretches(form: JobFilter, place: Place | None, *, is_backward: bool) -> Iterator[tuple[bool, Q]]:
    """(Whether with a value, where it begins) in order: runs with a value come before those without."""
    starts_without = place is not None and place.value is None
    if not is_backward:
        if not starts_without:
            yield True, form.chosen_sort.beyond(place, is_backward=False) if place else Q()
        yield False, form.chosen_sort.keys_beyond(place, is_backward=False) if place and starts_without else Q()
        return
    if place and starts_without:
        yield False, form.chosen_sort.keys_beyond(place, is_backward=True)
        yield True, Q()
    elif place:
        yield True, form.chosen_sort.beyond(place, is_backward=True)


def _stretch(form: JobFilter, begins: Q, wanted: int, *, has_value: bool, is_backward: bool) -> list[Place]:
    """The first places of a stretch: the first of each part in its order, and of these the first."""
    sort = form.chosen_sort
    # Runs without a value may have no row in the table that is sorted by.
    table = sort.table if has_value or form.is_judged else ""
    asked_for = _folded(form, table).filter(begins, **{f"{sort.column}__isnull": not has_value})
    is_descending = sort.is_descending != is_backward
    order = sort.order(is_backward=is_backward)
    if not has_value:
        order = (f"{'-' if is_descending else ''}{sort.key if table else 'pk'}",)
    firsts = (asked_for.filter(part).order_by(*order)[:wanted] for part in form.sorted_parts(table))
    found = Job.objects.filter(pk__in=keys_of_any(firsts)).order_by(*order)
    return [Place(*row) for row in found.values_list(sort.column, "pk")[:wanted]]


def _folded(form: JobFilter, table: str) -> QuerySet[Job]:
    """The runs asked for, of each array one; all tasks of an array that was asked for by itself."""
    asked_for = Job.objects.filter(form.conditions(table))
    return asked_for if "array" in form.wanted else asked_for.filter(stands_for_its_array(_asked_for(form)))


def _asked_for(form: JobFilter) -> QuerySet[Job]:
    return Job.objects.filter(form.conditions())


def _runs(form: JobFilter, pks: list[int]) -> list[Job]:
    """The runs of these keys in this order, through the door to everybody's jobs."""
    rows = jobs_within(form.reach).select_related("efficiency").in_bulk(pks)
    runs = [rows[pk] for pk in pks if pk in rows]
    tasks = {} if "array" in form.wanted else tasks_of(runs, _asked_for(form))
    for run in runs:
        run.url = job_url(run)
        run.tasks = tasks.get(run.pk)
    return runs


def _count(form: JobFilter) -> int:
    """How many runs are asked for, counted no further than one past `COUNTED_MAX`."""
    table = JUDGED if form.is_judged else ""
    asked_for = Job.objects.filter(form.conditions(table))
    return sum(asked_for.filter(part)[: COUNTED_MAX + 1].count() for part in form.parts(table))
