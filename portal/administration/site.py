"""The site of the administration: who can see it, and the rules that apply to all its lists."""

from functools import update_wrapper
from typing import Any

from django import forms
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.utils import unquote
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

ASKED_BY_FILTERS = ("", "__exact", "__isnull", "__gte", "__lt")
"""The suffixes that Django's filters of flags, choices, values and days add to the name of their field."""

ELSEWHERE = {"login", "logout", "password_change", "password_change_done", "autocomplete", "view_on_site"}
"""Addresses of Django's site that the portal replaces or does not need."""


class Administration(AdminSite):
    """People who are not administrators get 404 here; people who are not signed in are sent to the portal's own
    page."""

    site_header = site_title = "Kaiku administration"
    index_title = "Accounts, roles and tokens"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        allowed = super().admin_view(view, cacheable)

        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request):
                raise Http404("There is no such page.")
            answer: HttpResponse = allowed(request, *args, **kwargs)
            return answer

        return login_required(update_wrapper(checked, view))

    def get_urls(self) -> list[Any]:
        return [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) not in ELSEWHERE]


class ReadOnly(ModelAdmin):
    """Read-only; what may still be done with a row is an action or an exception below."""

    actions: Any = None
    show_full_result_count = False
    list_per_page = 50

    @property
    def media(self) -> forms.Media:
        """Of Django's scripts only the one for choosing rows: the others are for fields that do not occur here."""
        return forms.Media(js=["admin/js/actions.js"])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only the filters beside the list; otherwise any column, or one of a related table, could be guessed."""
        return lookup in {f"{path}{asked}" for path in self.list_filter for asked in ASKED_BY_FILTERS}

    def log_addition(self, request: HttpRequest, obj: Any, message: object) -> Any:
        """Services write one audit log for all changes, whatever their origin; Django's own log stays empty."""

    def log_change(self, request: HttpRequest, obj: Any, message: object) -> Any:
        """As with additions."""

    def log_deletions(self, request: HttpRequest, queryset: object) -> Any:
        """As with additions."""

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        """The entries of the audit log for a row, found by its name in the log."""
        row = self.get_object(request, unquote(object_id))
        found = f"?{urlencode({'q': self.name_in_log(row)})}" if row is not None else ""
        return redirect(reverse("admin:jobs_auditentry_changelist") + found)

    def name_in_log(self, row: Any) -> str:
        """The name of this row in the audit log."""
        return str(row)
