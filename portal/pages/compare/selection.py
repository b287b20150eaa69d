"""Which runs an address compares: two to four different ones, as `CLUSTER/JOBID` or `CLUSTER/JOBID.ATTEMPT`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404

from jobs.models import Job
from reports.services.links import run_key

RUNS_MIN, RUNS_MAX = 2, 4
NAME = re.compile(
    r"(?P<cluster>[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63})/(?P<job_id>[0-9]{1,16})(?:\.(?P<attempt>[0-9]{1,8}))?\Z", re.ASCII
)


def named_run(visible: QuerySet[Job], name: str) -> Job:
    """The visible run of this name, the latest attempt where none is named; Http404 where there is none."""
    named = NAME.match(name)
    if named is None:
        raise Http404("There is no such job here.")
    runs = visible.filter(cluster=named["cluster"], job_id=int(named["job_id"]))
    if named["attempt"]:
        runs = runs.filter(attempt=int(named["attempt"]))
    run = runs.order_by("-attempt").first()
    if run is None:
        raise Http404("There is no such job here.")
    return run


def selection(runs: Sequence[Job]) -> str:
    """The part of an address that compares these runs.

    >>> selection([Job(cluster="lumi", job_id=7), Job(cluster="lumi", job_id=8)])
    'job=lumi/7.0&job=lumi/8.0'
    """
    return urlencode([("job", run_key(run)) for run in runs], safe="/")


def problem_of(names: Sequence[str]) -> str:
    """Why so many names cannot be compared; empty where they can.

    >>> problem_of(["lumi/1", "lumi/2"]), problem_of([]), problem_of(["lumi/1"])
    ('', 'Choose two to four jobs.', 'One job alone cannot be compared: choose one to three more.')
    """
    if not names:
        return "Choose two to four jobs."
    if len(names) < RUNS_MIN:
        return "One job alone cannot be compared: choose one to three more."
    if len(names) > RUNS_MAX:
        return f"{len(names)} jobs do not fit side by side: choose at most four."
    return ""
