"""The columns of an outbox: messages that are handed over to somebody else's server."""

import uuid

from django.db import models


class Outgoing(models.Model):
    """One message, which its receiver gets once, or twice where a worker ended before it recorded what came of it.

    `key` is the same for every try. `handed_at` is set just before the other server gets it; `interruptions` counts the
    times the outcome is unknown: the worker ended, or the server never answered.
    """

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        SENDING = "sending", "Sending"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"
        SUPPRESSED = "suppressed", "Suppressed"

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=200, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    interruptions = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    handed_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
