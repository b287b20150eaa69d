"""Names of runs on the command line: `[CLUSTER/]JOBID[.ATTEMPT]`."""

import re

from django.core.management.base import CommandError

from jobs.models import Job
from jobs.selectors import job_runs

NAMED = re.compile(r"(?:(?P<cluster>[^/]+)/)?(?P<job_id>\d{1,16})(?:\.(?P<attempt>\d{1,8}))?\Z")


def named_run(name: str) -> Job:
    """The run with this name, its latest attempt unless one is named; CommandError if there is none or several."""
    named = NAMED.match(name)
    if named is None:
        raise CommandError(f"{name!r} is not [CLUSTER/]JOBID[.ATTEMPT], for example lumi/123456")
    runs = list(job_runs(int(named["job_id"]), named["cluster"]))
    if named["attempt"]:
        runs = [run for run in runs if run.attempt == int(named["attempt"])]
    if not runs:
        raise CommandError(f"no job {name} is stored here")
    if len({run.cluster for run in runs}) > 1:
        raise CommandError(f"{name} exists on several clusters: {', '.join(sorted({run.cluster for run in runs}))}")
    return runs[0]
