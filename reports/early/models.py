"""The tables of what people want to hear of jobs that still run, and which word is in which message."""

from django.db import models

from analysis.models import EarlyWord
from jobs.models import User


class EarlyChoice(models.Model):
    """What one person chose; without a row nothing is sent.

    `at_night`: mail also between 22:00 and 07:00 of their time zone. `to_project`: words about their jobs may go to the
    webhooks of the job's project, which others read.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="early_choice")
    by_mail = models.BooleanField(default=False)
    at_night = models.BooleanField(default=False)
    in_feed = models.BooleanField(default=False)
    to_project = models.BooleanField(default=False)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user}: mail {'on' if self.by_mail else 'off'}"


class MailedWord(models.Model):
    """The one message that a word belongs to, or the reason for none; `work` is its array's number, else its job's."""

    word = models.OneToOneField(EarlyWord, on_delete=models.CASCADE, related_name="mailed")
    delivery = models.ForeignKey("reports.Delivery", on_delete=models.CASCADE, related_name="early_words")
    work = models.BigIntegerField()

    def __str__(self) -> str:
        return f"word {self.word_id} in delivery {self.delivery_id}"
