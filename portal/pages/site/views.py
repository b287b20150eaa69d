"""Site: sums over everybody's jobs by month, for staff and policy readers; people see their own under History."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.feedback import GROUP_USERS_MIN
from analysis.predictions.selectors import closed_months as closed_months_of_predictions
from analysis.site.selectors import CLOSED_AFTER, closed_months
from portal.access import site_readers_only
from portal.charts.predictions import month_rows
from portal.charts.site_claims import number
from portal.pages.site.elsewhere import CLASS_COLUMNS, comparisons
from portal.pages.site.idle import idle_part
from portal.pages.site.parts import chart, row, tables
from portal.pages.site.sections import sections
from portal.pages.site.week import week_of


@require_GET
@site_readers_only
def site(request: HttpRequest) -> HttpResponse:
    """Stored figures alone: the latest month, or one of those shown with `?month=2026-10`."""
    months = closed_months()
    shown = next((month for month in months if f"{month.first_day:%Y-%m}" == request.GET.get("month")), None)
    shown = shown or (months[-1] if months else None)
    context = {
        "users_min": GROUP_USERS_MIN,
        "closed_days": CLOSED_AFTER.days,
        "calendar": settings.TIME_ZONE,
        "months": [(f"{month.first_day:%Y-%m}", f"{month.first_day:%B %Y}") for month in reversed(months)],
    }
    if shown:
        context |= {
            "is_other": request.GET.get("month") not in (None, f"{shown.first_day:%Y-%m}"),
            "shown": f"{shown.first_day:%Y-%m}",
            "shown_name": f"{shown.first_day:%B %Y}",
            "closed_at": shown.closed_at,
            "total": row(shown.figures.total),
            "tables": tables(shown.figures),
            "idle": idle_part(shown.figures.idle),
            "energy_kwh": number(shown.figures.energy_kwh),
            "chart": chart(months),
            **sections(shown),
            "week": week_of(shown.figures.week),
            "predictions": month_rows(closed_months_of_predictions()),
            "elsewhere": comparisons(shown.first_day),
            "class_columns": CLASS_COLUMNS,
        }
    return render(request, "portal/site/site.html", context)
