"""The audit log, for administrators: who changed what; it can be filtered, searched and downloaded.

And sign-ins of people without an account: to view, and to find the person who contacts them.
"""

from collections.abc import Iterator
from itertools import chain

from django.conf import settings
from django.contrib.admin import action, display
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from jobs.audit.selectors import audit_entries
from jobs.directory import subject_of
from jobs.models import AuditEntry, UnknownIdentity
from portal.administration.site import ReadOnly
from portal.downloads import streamed
from portal.sign_in.identities import subject_digest
from wire.csv_cells import csv_lines

COLUMNS = ("at", "actor_kind", "actor", "action", "kind", "name", "details")
CHUNK_ROWS = 1000


class AuditLog(ReadOnly):
    """Read-only; nothing changes the log here."""

    actions = ("download",)
    list_display = fields = COLUMNS
    list_filter = ("action", "actor_kind", "kind", "at")
    search_fields = ("actor", "name")
    ordering = ("-at", "-id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        return audit_entries()

    @action(description="Download as CSV")
    def download(self, request: HttpRequest, chosen: QuerySet[AuditEntry]) -> StreamingHttpResponse:
        return streamed(csv_lines(chain([COLUMNS], _rows(chosen))), "kaiku-audit-log.csv")


def _rows(entries: QuerySet[AuditEntry]) -> Iterator[tuple[object, ...]]:
    for at, *more in entries.values_list(*COLUMNS).iterator(chunk_size=CHUNK_ROWS):
        yield (at.isoformat(), *more)


class UnknownIdentities(ReadOnly):
    """Only a keyed digest of each identity is stored: it can be found with the identifier, but not read here."""

    list_display = fields = ("short", "times", "first_at", "last_at")
    search_fields = ("digest",)
    ordering = ("-last_at",)

    @display(description="digest")
    def short(self, row: UnknownIdentity) -> str:
        return str(row)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No query parameter can search for parts of a digest."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[UnknownIdentity], search_term: str
    ) -> tuple[QuerySet[UnknownIdentity], bool]:
        """The row of exactly this identifier; it is hashed here and stored nowhere."""
        if not search_term:
            return queryset, False
        subject = subject_of(search_term.strip(), settings.OIDC_SUBJECT_CASE)
        return queryset.filter(digest=subject_digest(subject)) if subject else queryset.none(), False
