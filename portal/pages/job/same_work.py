"""Other runs of the same work beside one run, and what was asked for differently."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from jobs.models import Job
from jobs.selectors import keys_of_any
from portal.charts.run_classes import SHOWN_NAMES, class_for_programs, shown_class
from reports.services.links import job_url
from wire.numbers import duration, gigabytes

ASKED: tuple[tuple[str, Callable[[Job], object]], ...] = (
    ("Partition", lambda run: run.partition or None),
    ("Nodes", lambda run: run.node_count),
    ("GPUs", lambda run: run.gpus_allocated),
    ("Tasks", lambda run: run.ntasks),
    ("Cores a task", lambda run: run.cpus_per_task),
    ("Memory", lambda run: None if run.memory_requested_gb is None else gigabytes(run.memory_requested_gb)),
    ("Time limit", lambda run: None if run.walltime_requested_s is None else duration(run.walltime_requested_s)),
)
"""What both of Slurm's records know, whatever spelling the user chose."""

RUNS_SHOWN_MAX = 5


@dataclass(frozen=True)
class Neighbours:
    """The pages of the run of the same work before this one and of the one after it; empty where there is none."""

    earlier_url: str
    later_url: str


@dataclass(frozen=True)
class SameWork:
    """One run of the work: `changes` is empty for the run that the others stand beside."""

    run: Job
    url: str
    is_this: bool
    changes: tuple[str, ...]

    @property
    def class_name(self) -> str:
        """The class as people read it; empty while the run is not analysed."""
        return SHOWN_NAMES.get(shown_class(self.run), "")

    @property
    def css_class(self) -> str:
        """The style of the class, neutral where the use is not judged."""
        return class_for_programs(self.run).lower()


def neighbours(run: Job, visible: QuerySet[Job]) -> Neighbours:
    """The runs of the same work that ended just before and just after this one."""
    if not run.work_key or run.ended_at is None:
        return Neighbours("", "")
    same = Job.objects.filter(work_key=run.work_key)
    # The first condition alone finds where to begin in the index.
    is_earlier = Q(ended_at__lte=run.ended_at) & (Q(ended_at__lt=run.ended_at) | Q(pk__lt=run.pk))
    is_later = Q(ended_at__gte=run.ended_at) & (Q(ended_at__gt=run.ended_at) | Q(pk__gt=run.pk))
    before = _seen(visible, same.filter(is_earlier).order_by("-ended_at", "-pk")[:1]).first()
    after = _seen(visible, same.filter(is_later).order_by("ended_at", "pk")[:1]).first()
    return Neighbours(job_url(before) if before else "", job_url(after) if after else "")


def other_runs(run: Job, visible: QuerySet[Job]) -> list[Job]:
    """The latest other runs of the same work."""
    if not run.work_key:
        return []
    same = Job.objects.filter(work_key=run.work_key).exclude(pk=run.pk).order_by("-ended_at", "-pk")
    return list(_seen(visible, same[:RUNS_SHOWN_MAX]).select_related("efficiency").order_by("-ended_at", "-pk"))


def _seen(visible: QuerySet[Job], runs: QuerySet[Job]) -> QuerySet[Job]:
    """Those of a few runs that the reader sees: an index of the work's key, which is of one person's, finds them."""
    return visible.filter(pk__in=keys_of_any([runs]))


def same_work(run: Job, others: Sequence[Job]) -> list[SameWork]:
    """This run among the others, the latest first; nothing where there are none."""
    if not others:
        return []
    latest_first = sorted(
        [run, *others], key=lambda each: (each.ended_at is None, each.ended_at, each.pk), reverse=True
    )
    return [SameWork(each, job_url(each), each.pk == run.pk, tuple(changes(run, each))) for each in latest_first]


def changes(run: Job, other: Job) -> Iterator[str]:
    """What the other run asked for differently; nothing is said of what is not known of both."""
    for label, of in ASKED:
        here, there = of(run), of(other)
        if here is not None and there is not None and here != there:
            yield f"{label} {there}, here {here}"
