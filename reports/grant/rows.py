"""A grant report as the rows of a table for spreadsheets: one number a row, with its unit and its period before."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime

from reports.grant.report import Ended, GrantReport, Use

COLUMNS = ("section", "item", "unit", "value", "value_before")
UNITS = {"gpu_hours": "GPU-hours", "kwh": "kWh", "fraction": "0..1", "percent": "percent"}
DIGITS = 4

Row = tuple[str, str, str, object, object]


def rows(report: GrantReport) -> Iterator[Iterable[object]]:
    """The names of the columns, then the numbers; an empty cell is not known or not measured."""
    yield COLUMNS
    for row in _rows(report):
        yield [round(cell, DIGITS) if isinstance(cell, float) else cell for cell in row]


def _rows(report: GrantReport) -> Iterator[Row]:
    yield from _head(report)
    yield from _numbers(report)
    for step in report.steps:
        yield f"each {report.step}", step.first.isoformat(), "GPU-hours", step.billed_gpu_hours, None
    for claim in report.claims:
        yield "factors", claim.name, claim.unit, claim.amount, "; ".join(claim.factors)
    for number, saving in enumerate(report.open_savings, 1):
        yield "open savings", saving.name or f"Work {number}", "GPU-hours", saving.gpu_hours, None
    for member in report.members:
        yield "members", member.username, "GPU-hours", member.gpu_hours, None


def _head(report: GrantReport) -> Iterator[Row]:
    yield "report", "schema", "", report.schema, None
    yield "report", "project", "", report.project, None
    yield "report", "scope", "", report.scope, None
    yield "report", "first_day", "", report.first.isoformat(), report.before_first.isoformat()
    yield "report", "last_day", "", report.last.isoformat(), report.before_last.isoformat()
    yield "report", "calendar", "", report.calendar, None
    yield "report", "made_at", "", _instant(report.made_at), None
    row = report.allocation
    if row:
        yield "allocation", "gpu_hours", "GPU-hours", row.gpu_hours, None
        yield "allocation", "used_gpu_hours", "GPU-hours", row.used_gpu_hours, None
        yield "allocation", "begins_on", "", row.begins_on and row.begins_on.isoformat(), None
        yield "allocation", "ends_on", "", row.ends_on and row.ends_on.isoformat(), None
        yield "allocation", "read_at", "", _instant(row.read_at), None


def _numbers(report: GrantReport) -> Iterator[Row]:
    for name in (each.name for each in fields(Use) if each.name != "ended"):
        yield "use", name, _unit(name), getattr(report.use, name), getattr(report.before, name)
    now, then = report.use.ended, report.before.ended
    for name in (each.name for each in fields(Ended)):
        yield "jobs ended", name, "jobs", now and getattr(now, name), then and getattr(then, name)
    for row in report.classes:
        yield "classes", row.name, "GPU-hours", row.gpu_hours, None
    for row in report.classes:
        yield "jobs by class", row.name, "jobs", row.jobs, None
    for kind in report.advice.kinds:
        for name in ("given", "with_a_later_run", "followed", "followed_in_part"):
            yield "advice", f"{kind.kind} {name}", "", getattr(kind, name), None
        for name in ("claimed_gpu_hours", "saved_gpu_hours"):
            yield "advice", f"{kind.kind} {name}", _unit(name), getattr(kind, name), None
    yield "advice", "following_runs", "runs", report.advice.following_runs, None
    yield "advice", "compared_runs", "runs", report.advice.compared_runs, None
    yield "advice", "saved_gpu_hours", "GPU-hours", report.advice.saved_gpu_hours, None


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _unit(name: str) -> str:
    """The unit that a name ends with.

    >>> _unit("unused_gpu_hours"), _unit("jobs")
    ('GPU-hours', '')
    """
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
