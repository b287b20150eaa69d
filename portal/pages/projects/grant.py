"""The grant report of a project on a page: which period, what it states, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import urlencode

from analysis.history.sums import Step as HistoryStep
from analysis.rollups.selectors import site_now
from jobs.selectors import reach_of
from portal.access import membership_of, person, signed_in_page
from portal.charts.columns import Chart
from portal.charts.history import classes_of
from portal.grant_reading import allocated_span, asked_span
from reports.grant.report import Allocation, GrantReport
from reports.grant.selectors import allocation_of, grant_report, scope_of
from reports.grant.services import shown
from reports.grant.spans import Span, SpanError, offered


@dataclass(frozen=True)
class Choice:
    """A period that is offered, with its query."""

    name: str
    query: str
    is_shown: bool


@signed_in_page
def grant_page(request: HttpRequest, name: str) -> HttpResponse:
    """All of the project for its PI, their own part for everyone else in it; a wrong period shows the default one."""
    user = person(request)
    project = membership_of(user, name).project
    scope, allocation, today = scope_of(reach_of(user), project), allocation_of(project), site_now().date()
    span, problem = _span(request.GET, today, allocation)
    with_names = scope.is_whole and request.GET.get("names") == "1"
    report = grant_report(scope, span, timezone.now(), with_names=with_names)
    context = shown(report) | {
        **{"project": project, "leads": scope.is_whole, "with_names": with_names, "problem": problem, "span": span},
        "choices": _choices(span, today, allocation, with_names=with_names),
        "query": _query(span, with_names=with_names),
        "chart": _chart(report) if any(step.gpu_hours_by_class for step in report.steps) else None,
    }
    return render(request, "portal/projects/grant_report.html", context, status=400 if problem else 200)


def _chart(report: GrantReport) -> Chart:
    """The GPU-hours by class, as the page of the project draws them."""
    steps = [
        HistoryStep(datetime.combine(step.first, time()), step.jobs, step.gpu_hours_by_class, 0.0, None)
        for step in report.steps
    ]
    return classes_of(steps, report.step)


def _span(given: Mapping[str, str], today: date, allocation: Allocation | None) -> tuple[Span, str]:
    try:
        return asked_span(given.get("from"), given.get("until"), today, allocation), ""
    except SpanError as error:
        return asked_span(None, None, today, allocation), str(error)


def _query(span: Span, *, with_names: bool) -> str:
    names = {"names": "1"} if with_names else {}
    return urlencode({"from": span.first.isoformat(), "until": span.last.isoformat(), **names})


def _choices(span: Span, today: date, allocation: Allocation | None, *, with_names: bool) -> list[Choice]:
    found = offered(today, allocated_span(allocation))
    return [Choice(name, _query(each, with_names=with_names), each == span) for name, each in found]
