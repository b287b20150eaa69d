"""The table of tokens: of people's own programs, of collectors, and of programs of the site."""

from django.db import models
from django.db.models import Q

from jobs.audit.models import AuditEntry
from jobs.shown_text.models import ShownText


class Token(models.Model):
    """What a program presents instead of a person; only the SHA-256 of the secret is stored.

    Each kind gives access to one thing. A token of a person belongs to `user`; the others belong to the site. It is
    valid for `cluster` and `node` alone where they are set, and for ever without `expires_at`.
    """

    class Kind(models.TextChoices):
        READ = "read", "Reads what you see here"
        SEND = "send", "Sends measurements of your own runs"
        RUNS = "runs", "Logs your experiments and their runs"
        FEED = "feed", "Reads the feed of your reports"
        COLLECTOR = "collector", "Sends measurements of a cluster"
        POLICY = "policy", "Reads the policy figures"
        COMMENTS = "comments", "Reads the comments for Slurm"

    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="tokens", null=True)
    name = ShownText(max_length=64)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    cluster = models.CharField(max_length=64, blank=True)
    node = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=Q(revoked_at__isnull=True), name="personal_token_once"
            ),
            models.UniqueConstraint(fields=["kind", "name"], condition=Q(user__isnull=True), name="site_token_once"),
            models.CheckConstraint(
                condition=Q(kind__in=("read", "send", "runs", "feed"), user__isnull=False)
                | Q(kind__in=("collector", "policy", "comments"), user__isnull=True),
                name="token_of_its_kind",
            ),
        ]

    def __str__(self) -> str:
        if self.user_id:
            return f"{self.name} of {self.user}"
        return f"{self.name} ({', '.join(filter(None, (self.cluster, self.node)))})" if self.cluster else self.name

    @property
    def kind_in_log(self) -> AuditEntry.Kind:
        """Its kind in the audit log, and with that what people call it."""
        return KINDS_IN_LOG[Token.Kind(self.kind)]

    @property
    def name_in_log(self) -> str:
        return str(self) if self.user_id else self.name


PERSONAL = (Token.Kind.READ, Token.Kind.SEND, Token.Kind.RUNS, Token.Kind.FEED)
"""The kinds that people create for their own programs."""

KINDS_IN_LOG = {
    **dict.fromkeys(PERSONAL, AuditEntry.Kind.API_TOKEN),
    Token.Kind.COLLECTOR: AuditEntry.Kind.COLLECTOR_TOKEN,
    Token.Kind.POLICY: AuditEntry.Kind.POLICY_TOKEN,
    Token.Kind.COMMENTS: AuditEntry.Kind.COMMENT_TOKEN,
}

PREFIXES = {
    Token.Kind.READ: "kaiku_pat_",
    Token.Kind.SEND: "kaiku_run_",
    Token.Kind.RUNS: "kaiku_log_",
    Token.Kind.FEED: "kaiku_feed_",
    Token.Kind.COLLECTOR: "",
    Token.Kind.POLICY: "kaiku_policy_",
    Token.Kind.COMMENTS: "kaiku_comments_",
}
"""By this prefix a person, or a scanner of repositories, recognises what a lost secret gives access to."""
