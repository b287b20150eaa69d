"""Writing the comments for Slurm's accounting: with each judgement, in the same transaction."""

from django.conf import settings
from django.db import transaction

from analysis.assess import Assessment
from analysis.comments.models import SlurmComment
from analysis.comments.selectors import may_be_written
from analysis.comments.text import comment_text
from analysis.models import SweepMark
from jobs.models import Job, User

POSITIONS = "slurm_comments"
"""The mark whose position is the last one that was given."""

NUMBERED_TOGETHER = 1000


def note_comment(job: Job, judged: Assessment) -> None:
    """Store the comment of a run that was just judged, if its owner opted in; a changed one is read again."""
    if not settings.SLURM_COMMENTS or not may_be_written(job):
        return
    is_class_shown = not judged.efficiency.uncounted_reason and not judged.facts.ended_early
    text = comment_text(
        judged.efficiency.efficiency_class, judged.efficiency.avg_gpu_util, is_class_shown=is_class_shown
    )
    row = SlurmComment.objects.select_for_update().filter(job=job).first()
    if row is None:
        SlurmComment.objects.create(job=job, cluster=job.cluster, text=text)
    elif row.text != text:
        SlurmComment.objects.filter(job=job).update(text=text, position=None)


def forget_comments(user: User) -> None:
    """Delete the comments of a person's runs that were not read yet, and those that were; Slurm keeps what it has."""
    SlurmComment.objects.filter(job__user=user).delete()


def number_comments(cluster: str) -> int:
    """Give new and changed comments their positions; the last position that was given.

    The reader does it before reading, one at a time. A position that were given when the comment is written could
    become visible after a greater one, and a reader would have gone past it.
    """
    mark, _ = SweepMark.objects.get_or_create(name=POSITIONS, defaults={"position": 0})
    waiting = SlurmComment.objects.filter(cluster=cluster, position=None)
    if not waiting.exists():
        return mark.position or 0
    with transaction.atomic():
        mark = SweepMark.objects.select_for_update().get(name=POSITIONS)
        rows = list(waiting.order_by("job").select_for_update(skip_locked=True)[:NUMBERED_TOGETHER])
        for row in rows:
            mark.position = row.position = (mark.position or 0) + 1
        SlurmComment.objects.bulk_update(rows, ["position"])
        mark.save(update_fields=["position"])
    return mark.position or 0
