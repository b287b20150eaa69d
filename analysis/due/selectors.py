"""Which ended runs wait for a judgement of their record; nothing of the judgement itself is needed for it."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q, QuerySet

from jobs.models import Job
from jobs.records import ENDED_STATES

BACKLOG_LOOK_BACK = timedelta(hours=1)


def waiting_runs(now: datetime, limit: int) -> int:
    """How many ended, settled runs of the last hour wait for a judgement of their record, counted up to `limit`.

    Found by the index of recent changes; a run whose measurements alone are newer is not among them.
    """
    return unjudged_runs(now, now - BACKLOG_LOOK_BACK).order_by()[:limit].count()


def unjudged_runs(now: datetime, since: datetime | None) -> QuerySet[Job]:
    """Settled runs whose record was not judged; of those that changed since then, if given."""
    settled_at = now - timedelta(seconds=settings.SETTLE_SECONDS)
    runs = Job.objects.filter(state__in=ENDED_STATES, started_at__isnull=False).exclude(gpus_allocated=0)
    if since is not None:
        runs = runs.filter(changed_at__gte=since)
    is_judged = Q(efficiency__isnull=False, efficiency__job_revision=F("revision"))
    return runs.filter(~is_judged, ended_at__lte=settled_at)
