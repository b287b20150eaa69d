"""The table of who changed what: entries are added, read and removed after their retention; nothing changes them."""

from typing import Any

from django.db import models


class AppendOnly(models.QuerySet["AuditEntry"]):
    """Rows that can only be added and read: changing or deleting them raises TypeError.

    In PostgreSQL a trigger refuses the same. `jobs.audit.services` removes entries after their retention.
    """

    def update(self, **columns: object) -> int:
        raise TypeError("entries of the audit log are not changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise TypeError("entries of the audit log are not deleted")


class AuditEntry(models.Model):
    """Who changed a role, token, account, lesson, share or support case, read policy figures or exported runs: one row
    each.

    `actor` is a name as text, so that it stays when the account is deleted; `actor_kind` is the kind of actor. No
    secrets are stored, and no personal data but account names.
    """

    class ActorKind(models.TextChoices):
        PERSON = "person", "Person"
        COMMAND = "command", "Command"
        POLICY_TOKEN = "policy_token", "Policy token"
        DIRECTORY = "directory", "Directory"
        PROVIDER = "provider", "Sign-in provider"

    class Action(models.TextChoices):
        ROLE_GIVEN = "role_given", "Role given"
        ROLE_TAKEN = "role_taken", "Role taken"
        MEMBER_ADDED = "member_added", "Project role given"
        MEMBER_CHANGED = "member_changed", "Project role changed"
        MEMBER_REMOVED = "member_removed", "Project role ended"
        ACCOUNT_OPENED = "account_opened", "Account opened"
        ACCOUNT_CLOSED = "account_closed", "Account closed"
        ACCOUNT_CHANGED = "account_changed", "Account changed"
        IDENTITY_LINKED = "identity_linked", "Identity linked"
        IDENTITY_UNLINKED = "identity_unlinked", "Identity unlinked"
        SESSIONS_ENDED = "sessions_ended", "Sessions ended"
        TOKEN_MADE = "token_made", "Token created"
        TOKEN_REVOKED = "token_revoked", "Token revoked"
        LESSON_CHANGED = "lesson_changed", "Lesson changed"
        JOB_SHARED = "job_shared", "Job shared with support"
        SHARE_ENDED = "share_ended", "Share ended"
        TRIED_AGAIN = "tried_again", "Failed work tried again"
        CASE_CHANGED = "case_changed", "Support case changed"
        HELP_OFFERED = "help_offered", "Help offered by mail"
        SHARING_REQUESTED = "sharing_requested", "Sharing requested"
        LETTER_CHANGED = "letter_changed", "Offer of help changed"
        POLICY_READ = "policy_read", "Policy figures read"
        RUNS_EXPORTED = "runs_exported", "Runs exported"
        ELSEWHERE_IMPORTED = "elsewhere_imported", "Rows of another site imported"
        ELSEWHERE_REMOVED = "elsewhere_removed", "Rows of another site removed"
        WEBHOOK_MADE = "webhook_made", "Webhook created"
        WEBHOOK_CHANGED = "webhook_changed", "Webhook changed"
        WEBHOOK_REMOVED = "webhook_removed", "Webhook removed"

    class Kind(models.TextChoices):
        ACCOUNT = "account", "Account"
        MEMBERSHIP = "membership", "Membership"
        COLLECTOR_TOKEN = "collector_token", "Collector token"
        API_TOKEN = "api_token", "Personal token"
        LESSON = "lesson", "Lesson"
        JOB = "job", "Job"
        WORK = "work", "Background work"
        CASE = "case", "Support case"
        LETTER = "letter", "Offer of help"
        POLICY_TOKEN = "policy_token", "Policy token"
        POLICY = "policy", "Policy figures"
        COMMENT_TOKEN = "comment_token", "Comment token"
        ELSEWHERE = "elsewhere", "Rows between sites"
        WEBHOOK = "webhook", "Webhook"

    NAME_LENGTH_MAX, DETAILS_LENGTH_MAX = 255, 255

    at = models.DateTimeField()
    actor_kind = models.CharField("kind of actor", max_length=16, choices=ActorKind.choices)
    actor = models.CharField(max_length=NAME_LENGTH_MAX)
    action = models.CharField(max_length=24, choices=Action.choices)
    kind = models.CharField("kind of object", max_length=24, choices=Kind.choices)
    name = models.CharField(max_length=NAME_LENGTH_MAX)
    details = models.CharField(max_length=DETAILS_LENGTH_MAX, blank=True)

    objects = AppendOnly.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["-at", "-id"], name="audit_by_time")]

    def __str__(self) -> str:
        return f"{self.actor}: {self.get_action_display().lower()}: {self.name}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the row; TypeError where it exists already."""
        if not self._state.adding:
            raise TypeError("entries of the audit log are not changed")
        super().save(*args, **kwargs)

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        raise TypeError("entries of the audit log are not deleted")
