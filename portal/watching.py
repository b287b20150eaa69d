"""One round of watching running jobs: look, put what is to be told into the outboxes, and post to webhooks."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from analysis.early.services import watch_running
from reports.early.services.mailing import plan_early_mail
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.sending import ROUND_S, send_posts

RUNNING_JOBS = 2000
"""Running jobs that one run looks at: more than all of LUMI-G's nodes send in half an hour."""

READERS = 500
"""People, and webhooks, for which one run plans messages."""


def watch_and_tell(post_s: float = ROUND_S) -> int:
    """How many running jobs were looked at. New posts start for `post_s`; mail is sent with the other mail."""
    looked_at = watch_running(RUNNING_JOBS, timezone.now())
    plan_early_mail(READERS, timezone.now())
    if settings.WEBHOOKS:
        plan_posts(READERS, timezone.now())
        send_posts(round_s=post_s)
    return looked_at
