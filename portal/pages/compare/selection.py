"""Which runs an address compares: two to four different ones, as `CLUSTER/JOBID` or `CLUSTER/JOBID.ATTEMPT`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from jobs.models import Job
from reports.services.links import run_key
from wire.names import SLUG
from wire.safe_text import printable

RUNS_MIN, RUNS_MAX = 2, 4
LOOKED_UP_MAX = 20
"""Of so many names in one address each is looked up or listed as missing; nobody chooses more by hand."""

SHOWN_LENGTH_MAX = 80
NAME = re.compile(rf"(?P<cluster>{SLUG})/(?P<job_id>[0-9]{{1,16}})(?:\.(?P<attempt>[0-9]{{1,8}}))?\Z", re.ASCII)


@dataclass(frozen=True)
class RunName:
    """What names a run; without an attempt it is the latest."""

    cluster: str
    job_id: int
    attempt: int | None

    @property
    def condition(self) -> Q:
        """The rows that it may be."""
        of_job = Q(cluster=self.cluster, job_id=self.job_id)
        return of_job if self.attempt is None else of_job & Q(attempt=self.attempt)

    def among(self, runs: Iterable[Job]) -> Job | None:
        """The run of this name, the latest attempt where none is named."""
        own = [run for run in runs if (run.cluster, run.job_id) == (self.cluster, self.job_id)]
        if self.attempt is not None:
            own = [run for run in own if run.attempt == self.attempt]
        return max(own, key=lambda run: run.attempt, default=None)


@dataclass(frozen=True)
class Selection:
    """The `runs` of an address in its order, each once, and the names that are `missing`, as a page may show them.

    A run is missing for whoever may not see it, whether or not it exists. `named` is how many names there were.
    """

    named: int
    runs: tuple[Job, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Why these cannot be compared; empty where they can.

        >>> Selection(2, (Job(), Job())).problem, Selection(0).problem, Selection(2, (Job(),), ("lumi/9",)).problem
        ('', 'Choose two to four jobs.', 'One job alone cannot be compared: choose one to three more.')
        """
        many = self.named if self.named > LOOKED_UP_MAX else len(self.runs)
        if many > RUNS_MAX:
            return f"{many} jobs do not fit side by side: choose at most four."
        if not self.runs:
            return "Choose two to four jobs."
        if len(self.runs) >= RUNS_MIN:
            return ""
        if self.named > len(self.runs) + len(self.missing):
            return "The same job stands there twice: choose different ones."
        return "One job alone cannot be compared: choose one to three more."


def selected(visible: QuerySet[Job], names: Sequence[str]) -> Selection:
    """What these names choose of the visible runs: one query."""
    read = {name: _run_name(name) for name in names[:LOOKED_UP_MAX]}
    known = [name for name in read.values() if name]
    rows = list(visible.filter(reduce(or_, (name.condition for name in known)))) if known else []
    runs: dict[int, Job] = {}
    missing = []
    for text, name in read.items():
        run = name.among(rows) if name else None
        if run is None:
            missing.append(printable(text)[:SHOWN_LENGTH_MAX])
        else:
            runs[run.pk] = run
    return Selection(len(names), tuple(runs.values()), tuple(missing))


def _run_name(text: str) -> RunName | None:
    named = NAME.match(text)
    if named is None:
        return None
    attempt = named["attempt"]
    return RunName(named["cluster"], int(named["job_id"]), int(attempt) if attempt else None)


def selection_address(runs: Sequence[Job]) -> str:
    """The part of an address that compares these runs.

    >>> selection_address([Job(cluster="lumi", job_id=7), Job(cluster="lumi", job_id=8)])
    'job=lumi/7.0&job=lumi/8.0'
    """
    return urlencode([("job", run_key(run)) for run in runs], safe="/")
