"""The audit log, for administrators: who changed what; it can be filtered, searched and downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from django.contrib.admin import action
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from jobs.audit.selectors import audit_entries
from jobs.models import AuditEntry
from portal.administration.site import ReadOnly
from portal.csv_lines import csv_lines

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
        content = csv_lines(chain([COLUMNS], _rows(chosen)))
        disposition = {"Content-Disposition": 'attachment; filename="kaiku-audit-log.csv"'}
        return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=disposition)


def _rows(entries: QuerySet[AuditEntry]) -> Iterator[tuple[object, ...]]:
    for at, *more in entries.values_list(*COLUMNS).iterator(chunk_size=CHUNK_ROWS):
        yield (at.isoformat(), *more)
