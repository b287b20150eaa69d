"""Removing logged runs whose retention is over, with everything that they logged."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from jobs.experiments.models import ExperimentRun
from jobs.experiments.services.following import FOLLOWING
from jobs.experiments.services.locks import all_locked
from jobs.experiments.services.points import SORTING
from jobs.expiry.services import RUNS_TOGETHER, forget_work


def remove_logged_runs(before: datetime) -> Iterator[int]:
    """Delete the runs that were heard last before then, some in each transaction; yields the number of each.

    Their jobs ended about then too, and are kept as long.
    """
    old = ExperimentRun.objects.filter(started_at__lt=before, heard_at__lt=before).order_by("started_at", "pk")
    while keys := list(old.values_list("pk", flat=True)[:RUNS_TOGETHER]):
        with transaction.atomic():
            keys = all_locked(old.filter(pk__in=keys))
            forget_work(FOLLOWING, keys)
            forget_work(SORTING, keys)
            ExperimentRun.objects.filter(pk__in=keys).delete()
        yield len(keys)
