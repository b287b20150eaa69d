"""The tables of webhooks: where words about running jobs are posted, and the outbox of these deliveries."""

from django.db import models

from analysis.models import EarlyWord
from jobs.models import Project, ShownText, User
from jobs.work_queue.outbox.models import Outgoing
from reports.webhooks.shape import LABELS

SHAPE_CHOICES = [(shape.value, label) for shape, label in LABELS.items()]


class Webhook(models.Model):
    """An address that gets early words: its owner's, or those of a project whose PI the owner is.

    The address is a secret for many receivers, so it is stored encrypted; people see `host` and `ending` of it. The
    secret of its signatures is derived from `nonce` and is not stored. It gets words found from `since` on. `failures`
    counts those since the last success, the first of which was at `failing_since`; until `paused_until` nothing is
    tried. Since `off_at` it is switched off; null while it is on.
    """

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="webhooks")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="+")
    name = ShownText(max_length=64)
    shape = models.CharField(max_length=16, choices=SHAPE_CHOICES)
    sealed_address = models.TextField()
    host = models.CharField(max_length=255)
    ending = models.CharField(max_length=4)
    nonce = models.CharField(max_length=32)
    created_at = models.DateTimeField()
    since = models.DateTimeField()
    last_at = models.DateTimeField(null=True)
    last_outcome = models.CharField(max_length=200, blank=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    off_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="webhook_name_once")]

    def __str__(self) -> str:
        return f"webhook {self.pk} to {self.host}"


class WebhookDelivery(Outgoing):
    """One POST of the outbox, about all words that waited for the webhook then, or a test without words.

    `sent_at` is when its receiver took it, or may have taken it and did not answer.
    """

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    is_test = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        indexes = [
            models.Index(fields=["state", "due_at"], name="webhook_delivery_by_due"),
            models.Index(fields=["created_at"], name="webhook_delivery_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.state}"


class WebhookWord(models.Model):
    """Which delivery of a webhook a word is in, so that it is posted there once. `work`: as in `MailedWord`."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="+")
    word = models.ForeignKey(EarlyWord, on_delete=models.CASCADE, related_name="+")
    delivery = models.ForeignKey(WebhookDelivery, on_delete=models.CASCADE, related_name="words")
    work = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "word"], name="webhook_word_once")]

    def __str__(self) -> str:
        return f"word {self.word_id} for webhook {self.webhook_id}"
