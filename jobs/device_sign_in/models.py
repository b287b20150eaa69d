"""Sign-ins of programs (RFC 8628) that wait for their person, or for the program to fetch its token."""

from django.db import models

from jobs.shown_text.models import ShownText


class DeviceSignIn(models.Model):
    """One program that shows a code; of both codes only digests are stored.

    `device_name` is what the program says it is and `address` where its call came from; `kind` is that of the token it
    gets; `user` answered. A row is over at `expires_at`, whatever its state.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        APPROVED = "approved", "Approved"
        REFUSED = "refused", "Refused"
        SPENT = "spent", "Token fetched"

    device_digest = models.CharField(max_length=64, primary_key=True)
    user_digest = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    device_name = ShownText(max_length=64)
    kind = models.CharField(max_length=8, default="read", db_default="read")
    address = models.CharField(max_length=64)
    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="+", null=True, db_constraint=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    polled_at = models.DateTimeField(null=True)
    interval_s = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return f"{self.device_name} until {self.expires_at:%H:%M}"
