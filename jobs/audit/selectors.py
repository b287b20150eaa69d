"""Reading the audit log."""

from django.db.models import QuerySet

from jobs.audit.models import AuditEntry


def audit_entries() -> QuerySet[AuditEntry]:
    """Every stored entry, the latest first."""
    return AuditEntry.objects.order_by("-at", "-pk")
