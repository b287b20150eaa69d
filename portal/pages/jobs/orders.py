"""The orders of the Jobs page by their names in an address, and those of its works; orders by class and first finding.

The kinds of these two have an order that no column has.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

from django.db.models import Case, F, IntegerField, Q, Value, When
from django.db.models.expressions import OrderBy
from django.db.models.lookups import Exact, GreaterThan, In, LessThan

from analysis.efficiency import MEASURED, EfficiencyClass
from analysis.models import FirstCode
from portal.charts.run_classes import IS_JUDGED, OPEN, UNKNOWN
from portal.pages.jobs.sorts import JUDGED, KEY_OF_JUDGED, Place, Sort, Stretch, key_of_place
from reports.wording import TITLES

Kinds = tuple[tuple[str, Q], ...]


@dataclass(frozen=True)
class KindSort:
    """Runs by their kind, the newest of each first; those of no kind last.

    `kinds` are (name in an address, its runs), in the order in which they are shown. An index holds the owner, or the
    project, the kind and the key, so that a page is read without what comes before it, as with a `Sort`.
    """

    label: str
    kinds: Kinds
    rest: Q
    is_descending: bool = False

    def stretches(self, place: Place | None, *, is_backward: bool, is_judged: bool) -> Iterator[Stretch]:
        """What lies behind this place, or before it, kind by kind."""
        kinds: list[tuple[str | None, Q]] = [*self.kinds, (None, self.rest)]
        at = [name for name, _ in kinds].index(place.value) if place else 0  # type: ignore[arg-type]
        left = kinds[at::-1] if is_backward else kinds[at:]
        sign, sense = ("", "gt") if is_backward else ("-", "lt")
        for name, runs in left:
            table, key = (JUDGED, KEY_OF_JUDGED) if name is not None or is_judged else ("", "pk")
            beyond = Q(**{f"{key}__{sense}": place.pk}) if place and name == place.value else Q()
            yield Stretch(runs & beyond, (f"{sign}{key}",), table, value=name)

    def full_order(self) -> tuple[OrderBy, OrderBy]:
        """The order of all runs in one query, for whoever reads every one of them."""
        ranks = [When(runs, then=Value(rank)) for rank, (_, runs) in enumerate(self.kinds)]
        rank: Any = Case(*ranks, default=Value(len(ranks)), output_field=IntegerField())
        return OrderBy(rank), F("pk").desc()

    def place(self, text: str) -> Place | None:
        """The place that `Place.text` wrote; None for anything else."""
        written, key = key_of_place(text)
        if key is None or (written and written not in dict(self.kinds)):
            return None
        return Place(written or None, key)


def _classes() -> Kinds:
    """The lowest first; then, class by class, the runs that were measured but are not judged."""
    judged = [name for name in reversed(EfficiencyClass) if name.value in MEASURED]
    is_class = {name: Q(**{f"{JUDGED}efficiency_class": name}) for name in (*MEASURED, UNKNOWN)}
    return (
        *((name.value, is_class[name.value] & IS_JUDGED) for name in judged),
        (UNKNOWN, is_class[UNKNOWN]),
        *((f"{OPEN}-{name.value}", is_class[name.value] & ~IS_JUDGED) for name in judged),
    )


FIRST = FirstCode(f"{JUDGED}finding_codes")
NO_FINDING = "none"


def _findings() -> Kinds:
    """What a report names first, by its title; then the runs in which nothing was found."""
    by_title = sorted(TITLES, key=lambda code: TITLES[code])
    return (*((code.value, Q(Exact(FIRST, code.value))) for code in by_title), (NO_FINDING, Q(Exact(FIRST, ""))))


def _of_other_versions() -> Q:
    """Runs whose first finding this version does not know: in the gaps between those it knows, which an index finds."""
    known = ["", *sorted(code.value for code in TITLES)]
    gaps = [Q(GreaterThan(FIRST, one)) & Q(LessThan(FIRST, other)) for one, other in pairwise(known)]
    gaps.append(Q(GreaterThan(FIRST, known[-1])))
    return reduce(or_, gaps) & ~Q(In(FIRST, known))


NO_REPORT = Q(**{f"{JUDGED}isnull": True})
CLASSES = KindSort("Lowest class first", _classes(), NO_REPORT)
FINDINGS = KindSort("By finding", (*_findings(), ("other", _of_other_versions())), NO_REPORT)


LATEST = Sort("Latest first", "ended_at", is_time=True)
LATEST_JUDGED = Sort("Latest first", f"{JUDGED}ended_at", is_time=True)
"""The same order where only judged runs are asked for: one index holds the class and the findings too."""

SORTS: dict[str, Sort | KindSort] = {
    "ended": LATEST,
    "use": Sort("Lowest GPU use first", f"{JUDGED}avg_gpu_util", is_descending=False),
    "wasted": Sort("Most unused GPU-hours first", f"{JUDGED}wasted_gpu_hours"),
    "hours": Sort("Most GPU-hours first", f"{JUDGED}gpu_hours"),
    "runtime": Sort("Longest first", "walltime_used_s"),
    "gpus": Sort("Most GPUs first", "gpus_allocated", is_count=True),
    "finding": FINDINGS,
    "class": CLASSES,
}
FIRST_SORT = "ended"

WORK_SORTS = {
    "ended": "Latest first",
    "wasted": "Most unused GPU-hours first",
    "hours": "Most used GPU-hours first",
    "jobs": "Most jobs first",
}
"""The orders of works: their names, and what each is called."""


def of_class(name: str) -> KindSort:
    """The order by class where only one is asked for: the others need not be looked through."""
    return replace(
        CLASSES, kinds=tuple(kind for kind in CLASSES.kinds if kind[0] == name or kind[0].startswith(f"{name}-"))
    )
