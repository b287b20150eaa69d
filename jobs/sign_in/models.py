"""Tables of signing in: attempts, sessions of the provider, and people without an account."""

from django.db import models


class AttemptCount(models.Model):
    """How many passwords one address, or one name from it, has tried in the window until `until`; `key` is a digest."""

    key = models.CharField(max_length=64, primary_key=True)
    tries = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.tries} until {self.until:%H:%M}"


class ProviderSession(models.Model):
    """The session at the provider behind a session here, so that the provider can end it; `sid` is a digest."""

    session_key = models.CharField(max_length=40, primary_key=True)
    sid = models.CharField(max_length=64, db_index=True)
    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="+", db_constraint=False)
    began_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"a session of {self.user}"


class SpentLogoutToken(models.Model):
    """A logout token that was used, stored while it could be used again; `digest` of its `jti`."""

    digest = models.CharField(max_length=64, primary_key=True)
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"a logout token until {self.until:%H:%M}"


class UnknownIdentity(models.Model):
    """A valid sign-in of somebody who has no account here; only a keyed digest of the identity is stored."""

    digest = models.CharField(max_length=64, unique=True)
    times = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "unknown identities"

    def __str__(self) -> str:
        return f"{self.digest[:12]}…"
