"""Writing reports: one value for each judgement, made again when the judgement changes."""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.db import transaction
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.selectors import assessment
from education.selectors import current_lessons
from reports.build import job_report
from reports.models import Report
from reports.selectors import due_efficiencies


def publish(efficiency_pk: int, now: datetime | None = None) -> bool:
    """Make the report of one judgement; False when another worker holds it or has just made it."""
    with transaction.atomic():
        due = due_efficiencies().filter(pk=efficiency_pk)
        claimed = JobEfficiency.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=due)
        efficiency = claimed.select_related("job__user", "job__project").first()
        if efficiency is None:
            return False
        content = msgspec.to_builtins(job_report(assessment(efficiency.job), current_lessons()))
        state = {"efficiency_revision": efficiency.revision, "published_at": now or timezone.now()}
        # A PDF that was made of the same content still holds.
        if not Report.objects.filter(job=efficiency.job, content=content).update(**state):
            changed = {**state, "content": content, "pdf": None}
            Report.objects.update_or_create(job=efficiency.job, defaults=changed)
    return True


def publish_due(limit: int, now: datetime | None = None) -> int:
    """Make up to `limit` reports that are due; how many were."""
    due = list(due_efficiencies().values_list("pk", flat=True)[:limit])
    return sum(publish(efficiency_pk, now) for efficiency_pk in due)
