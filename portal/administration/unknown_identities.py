"""Sign-ins of people without an account, for administrators: to view, and to find the person who contacts them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.directory import subject_of
from jobs.models import UnknownIdentity
from portal.admin import administration
from portal.administration.site import ReadOnly
from portal.sign_in.identities import subject_digest


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


administration.register(UnknownIdentity, UnknownIdentities)
