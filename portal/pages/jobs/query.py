"""The runs that choices leave, as conditions that an index answers; whose runs, `Reach` alone says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cached_property, reduce
from operator import or_

from django.db.models import Q, QuerySet
from django.utils import timezone

from analysis.findings import code_list
from analysis.history.periods import last_days
from analysis.rollups.selectors import site_zone
from jobs.models import Job, User
from jobs.notes.selectors import noted_jobs
from jobs.selectors import Reach
from portal.charts.run_classes import COUNTED_BY_FLAGS, has_class
from portal.pages.jobs.choices import Choices, Offered
from portal.pages.jobs.orders import CLASSES, FIRST_SORT, LATEST, LATEST_JUDGED, SORTS, KindSort, of_class
from portal.pages.jobs.sorts import JUDGED, Sort

NOTED_MAX = 1000
JOB_ID = re.compile(r"(?:(?P<cluster>[^/\s]{1,64})/)?(?P<number>[0-9]{1,16})(?:_(?P<task>[0-9]{1,16}))?")


@dataclass(frozen=True)
class JobQuery:
    """The list of jobs that one person looks up; `now` in their zone."""

    user: User
    offered: Offered
    choices: Choices
    now: datetime

    @property
    def reach(self) -> Reach:
        """Whose jobs this person sees."""
        return self.offered.reach

    @property
    def sort(self) -> Sort | KindSort:
        """The chosen order, on the table whose index also holds what is narrowed."""
        sort = SORTS.get(self.choices.order, LATEST)
        if sort is CLASSES and self.choices.efficiency_class:
            return of_class(self.choices.efficiency_class)
        return LATEST_JUDGED if sort is LATEST and self.choices.is_judged else sort

    @property
    def folds_arrays(self) -> bool:
        """Whether an array is one row: only in the order by end, where it stands at its last one.

        In every other order each task stands where its own value belongs; so do the tasks of an array that was asked
        for by itself.
        """
        return self.choices.order == FIRST_SORT and not self.choices.array

    def parts(self, table: str) -> Sequence[Q]:
        """Whose runs are looked through, in parts that do not overlap, by the columns of `table`."""
        return self._one_part(table) or self.reach.parts(table)

    def sorted_parts(self, table: str) -> Sequence[Q]:
        """The same in parts that an index of `table` has in their order; they may overlap."""
        return self._one_part(table) or self.reach.sorted_parts(table)

    def _one_part(self, table: str) -> Sequence[Q]:
        """The runs of one project, one owner, or both; nothing where neither was chosen."""
        project, owner = self.choices.project, self.choices.owner
        within = [self.reach.of_project(self.offered.projects[project], table)] if project else []
        within += [self.reach.of_owner(self.offered.owners[owner], table)] if owner else []
        return [reduce(lambda one, other: one & other, within)] if within else ()

    def conditions(self, table: str = "") -> Q:
        """What else was chosen; times are looked up in `table`."""
        chosen, found = self.choices, Q()
        if chosen.partition:
            found &= Q(partition=chosen.partition)
        if chosen.state:
            found &= Q(state=chosen.state)
        if chosen.efficiency_class:
            found &= has_class(chosen.efficiency_class)
        if chosen.counted:
            found &= COUNTED_BY_FLAGS
        if chosen.finding:
            found &= Q(**{f"{JUDGED}finding_codes__contains": code_list([chosen.finding])})
        if chosen.array:
            cluster, _, array = chosen.array.rpartition("/")
            found &= Q(cluster=cluster, array_job_id=int(array))
        if chosen.work:
            found &= Q(work_key=chosen.work)
        return found & self._ended(f"{table}ended_at") & self._searched()

    def _ended(self, column: str) -> Q:
        """The days that were chosen, from midnight to midnight of this person's zone, or of the site's if that is
        chosen."""
        chosen, found = self.choices, Q()
        zone = site_zone() if chosen.zone else timezone.get_current_timezone()
        if chosen.days:
            found &= Q(**{f"{column}__gte": last_days(self.now.astimezone(zone), chosen.days).start})
        if chosen.since:
            found &= Q(**{f"{column}__gte": _midnight(chosen.since, zone)})
        if chosen.until:
            found &= Q(**{f"{column}__lt": _midnight(chosen.until + timedelta(days=1), zone)})
        return found

    def _searched(self) -> Q:
        """A part of the job's name, its id or that of its array, or what this person wrote beside it.

        An id may have its cluster before it: `lumi/17300298`; a task's is `17300290_8` as well, as Slurm writes it.
        """
        text = self.choices.q
        if not text:
            return Q()
        named = JOB_ID.fullmatch(text)
        if named and named["cluster"]:
            return _of_id(**named.groupdict())
        found = Q(job_name__icontains=text)
        if named:
            found |= _of_id(**named.groupdict())
        return found | Q(pk__in=self._noted) if self._noted else found

    @cached_property
    def _noted(self) -> list[int]:
        """The latest runs beside which this person wrote what is searched for; read first, as they are few."""
        noted = noted_jobs(Job.objects.all(), self.choices.q, self.user)
        return list(noted.order_by("-pk").values_list("pk", flat=True)[:NOTED_MAX])

    def runs(self) -> QuerySet[Job]:
        """Every run that is left, in the chosen order: for whoever reads all of them."""
        left = Job.objects.filter(reduce(or_, self.parts("")), self.conditions())
        return left.order_by(*self.sort.full_order())


def _of_id(cluster: str | None, number: str, task: str | None) -> Q:
    """The run of this id, or the tasks of this array."""
    if task is None:
        found = Q(job_id=int(number)) | Q(array_job_id=int(number))
    else:
        found = Q(array_job_id=int(number), array_task_id=int(task))
    return found & Q(cluster__in={cluster, cluster.lower()}) if cluster else found


def _midnight(day: date, zone: tzinfo) -> datetime:
    """The beginning of that day in a zone."""
    return timezone.make_aware(datetime.combine(day, time.min), zone)
