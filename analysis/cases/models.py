"""Tables of the support queue: one case for each flag, its history, and the requests to share jobs."""

from django.db import models
from django.db.models import Q

from analysis.cases.states import State
from analysis.escalation.models import Flag
from jobs.models import ShownText, User

NOTE_LENGTH_MAX = 2000


class SupportCase(models.Model):
    """What staff do about one flag; `version` counts the changes, so that two people notice each other.

    `holder` claimed it and stays after it closed; null before, or where the account is gone.
    """

    flag = models.OneToOneField(Flag, on_delete=models.CASCADE, related_name="case")
    state = models.CharField(max_length=16, choices=[(state.value, state.label) for state in State])
    holder = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    version = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["state"], name="cases_by_state")]

    def __str__(self) -> str:
        return f"case {self.pk}"


class CaseEvent(models.Model):
    """Who did what about a case and when; without `actor` Kaiku itself, or somebody whose account is gone."""

    class Kind(models.TextChoices):
        STATE = "state", "State changed"
        NOTE = "note", "Note"
        OFFER = "offer", "Help offered by mail"
        REQUEST = "request", "Sharing requested"
        ANSWER = "answer", "Answer of the owner"
        WITHDRAWN = "withdrawn", "Request withdrawn"

    case = models.ForeignKey(SupportCase, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    state = models.CharField(max_length=16, choices=[(state.value, state.label) for state in State])
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    text = ShownText(max_length=NOTE_LENGTH_MAX, blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["case", "at", "id"], name="events_by_case")]

    def __str__(self) -> str:
        return f"{self.kind} of case {self.case_id}"


class ShareRequest(models.Model):
    """Staff asked the owner to share jobs of a flag; the owner shares some, or declines. One is open at a time."""

    class Answer(models.TextChoices):
        SHARED = "shared", "Shared"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"

    case = models.ForeignKey(SupportCase, on_delete=models.CASCADE, related_name="share_requests")
    asked_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    asked_at = models.DateTimeField()
    answer = models.CharField(max_length=16, choices=Answer.choices, blank=True)
    answered_at = models.DateTimeField(null=True)
    jobs = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["case"], condition=Q(answered_at__isnull=True), name="open_share_request_once"
            )
        ]

    def __str__(self) -> str:
        return f"request of case {self.case_id}"
