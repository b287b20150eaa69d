"""Reading the comments for Slurm's accounting, in the order of their positions."""

from dataclasses import dataclass

from django.db.models import Max

from analysis.comments.models import SlurmComment
from jobs.models import Job

REQUEUED = "REQUEUED"


@dataclass(frozen=True)
class CommentPage:
    """Some comments, and the position after which the next page begins; the same as asked where nothing follows."""

    rows: tuple[SlurmComment, ...]
    next_since: int


def comment_page(cluster: str, since: int, limit: int) -> CommentPage:
    """The comments behind a position that may be written now; at most `limit`, and fewer if some may not."""
    stored = SlurmComment.objects.filter(cluster=cluster, position__gt=since).order_by("position")
    rows = list(stored.select_related("job__user")[:limit])
    runs = Job.objects.filter(cluster=cluster, job_id__in={row.job.job_id for row in rows}).order_by()
    latest = dict(runs.values_list("job_id").annotate(Max("attempt")))
    shown = (row for row in rows if may_be_written(row.job) and latest[row.job.job_id] == row.job.attempt)
    return CommentPage(tuple(shown), rows[-1].position or since if rows else since)


def may_be_written(job: Job) -> bool:
    """Whether a run of this owner may get a comment: it ended after the owner opted in, and Slurm has recorded it.

    Not a run after which Slurm starts another attempt, because sacctmgr would change that one; nor a task whose number
    is its array's, because sacctmgr would change the whole array.
    """
    since = job.user.slurm_comments_since
    return (
        since is not None
        and job.ended_at is not None
        and job.ended_at >= since
        and job.started_at is not None
        and not job.is_told_by_owner
        and job.state != REQUEUED
        and job.job_id != job.array_job_id
    )
