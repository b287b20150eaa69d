"""The tables of reports, of the messages about them, and of people's mail choices."""

from collections.abc import Sequence
from typing import Any

from django.db import models

from analysis.efficiency import EfficiencyClass
from jobs.models import Job, Project, User
from jobs.work_queue.outbox.models import Outgoing
from reports.early.models import EarlyChoice as EarlyChoice
from reports.early.models import MailedWord as MailedWord
from reports.mail.digest import CLASS_ORDER, Frequency
from reports.mail.offer import SUBJECT_LENGTH_MAX, TEXT_LENGTH_MAX
from reports.packed_json import pack_json, unpack_json
from reports.webhooks.models import Webhook as Webhook
from reports.webhooks.models import WebhookDelivery as WebhookDelivery
from reports.webhooks.models import WebhookWord as WebhookWord

FREQUENCIES = [(name.value, name.value.title()) for name in Frequency]
CLASSES = [(name.value, name.value.title()) for name in CLASS_ORDER]


class PackedJSONField(models.BinaryField):
    """A JSON value in less than half its bytes; the database compares it whole and does not look inside."""

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """A migration sees the plain column that this is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, kwargs

    def get_prep_value(self, value: Any) -> bytes | None:
        return None if value is None else pack_json(value)

    def from_db_value(self, value: bytes | memoryview | None, expression: Any, connection: Any) -> Any:
        return None if value is None else unpack_json(value)


class DeliveryPreference(models.Model):
    """What one person chose; without a row the defaults apply."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="delivery_preference")
    frequency = models.CharField(max_length=16, choices=FREQUENCIES, default=Frequency.DAILY.value)
    minimum_class = models.CharField(max_length=16, choices=CLASSES, default=EfficiencyClass.EFFICIENT.value)
    with_pdf = models.BooleanField(default=False)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user}: {self.frequency}"


class ProjectPreference(models.Model):
    """How often one person gets mail about the jobs of one project, where that differs."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="project_preferences")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    frequency = models.CharField(max_length=16, choices=FREQUENCIES)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "project"], name="project_preference_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}: {self.frequency}"


class Delivery(Outgoing):
    """One message of the outbox, or the reports of one person that are not mailed, with the reason.

    `key` is the Message-ID. `frequency` is empty where no message was planned.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="deliveries")
    frequency = models.CharField(max_length=16, choices=FREQUENCIES, blank=True)
    address = models.CharField(max_length=254, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["state", "due_at"], name="delivery_by_due"),
            models.Index(fields=["user", "-created_at"], name="delivery_by_user"),
            models.Index(fields=["-created_at"], name="delivery_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.state}"


class Notice(models.Model):
    """The text of a message that is about no report; without it a delivery is one about reports.

    `once_key` names what may be sent once, such as the summary of one week to one person. One about running jobs names
    none: its subject and text are written from the words that hold when it is handed over.
    """

    class Kind(models.TextChoices):
        OFFER = "offer", "Offer of help"
        SUMMARY = "summary", "Summary of the support queue"
        EARLY = "early", "Running jobs"

    delivery = models.OneToOneField(Delivery, on_delete=models.CASCADE, related_name="notice")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    once_key = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["once_key"], name="notice_once")]

    def __str__(self) -> str:
        return f"{self.kind} in delivery {self.delivery_id}"


class HelpLetter(models.Model):
    """One version of the offer of help that staff edit; the highest number is the present one, none the shipped text.

    Who wrote it may have left since.
    """

    number = models.PositiveIntegerField(unique=True)
    subject = models.CharField(max_length=SUBJECT_LENGTH_MAX)
    text = models.TextField(max_length=TEXT_LENGTH_MAX)
    editor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"offer of help, version {self.number}"


class Report(models.Model):
    """`content` is `reports.job_report.JobReport` as JSON.

    `delivery` is the message to its owner, or the reason for none; null while it waits. No run is mailed twice.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="report")
    content = PackedJSONField()
    efficiency_revision = models.PositiveIntegerField()
    published_at = models.DateTimeField()
    delivery = models.ForeignKey(Delivery, on_delete=models.SET_NULL, null=True, related_name="reports")

    class Meta:
        indexes = [
            models.Index(fields=["published_at"], name="report_waiting", condition=models.Q(delivery__isnull=True))
        ]

    def __str__(self) -> str:
        return f"Report on {self.job}"


class StoredPdf(models.Model):
    """The PDF of a report, kept for some days after its last request; the next request after that makes it again."""

    report = models.OneToOneField(Report, on_delete=models.CASCADE, primary_key=True, related_name="pdf")
    content = models.BinaryField()
    asked_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["asked_at"], name="pdf_by_asking")]

    def __str__(self) -> str:
        return f"PDF of {self.report}"
