"""Numbers and names in templates, worded as in the reports."""

from collections.abc import Iterable

from django import template

from analysis.history.sums import ClassShare
from analysis.models import Feedback, JobEfficiency
from jobs.models import Job
from portal.charts.columns import Rect
from portal.charts.logged_runs import metric_number, rate_number, shown
from reports import numbers
from reports.mail.digest import Silence
from reports.request_diff import copied, is_whole
from reports.services.links import finding_anchor
from reports.wording import TITLES
from wire import numbers as common_numbers

MINUS = "\N{MINUS SIGN}"
register = template.Library()

FORMAT_NAMES = {"html": "HTML", "md": "Markdown", "txt": "Text", "pdf": "PDF", "json": "JSON"}
DELIVERY_REASONS = {
    # One reason for everything that depends on the jobs, because staff who may not see the jobs must not learn about
    # them.
    **{reason.value: "not mailed under the rules and the reader's settings" for reason in Silence},
    Silence.OFF.value: "turned off by the recipient",
    "no_address": "no address known; sent as soon as there is one",
    "bad_address": "the address is not valid",
    "account_closed": "the account is closed",
    "worker_ended": "the worker ended each time while it wrote the message",
    "interrupted_twice": "delivery unconfirmed twice; may have arrived",
}

register.filter("duration", common_numbers.duration)
register.filter("hours", common_numbers.hours)
register.filter("rate", numbers.rate)
register.filter("finding_anchor", finding_anchor)
register.filter("copied", copied)
register.filter("metric_name", shown)
register.filter("is_whole", is_whole)


@register.filter
def finding_title(code: str) -> str:
    """What a finding with this code is called; the code itself where there is none."""
    return next((title for known, title in TITLES.items() if known == code), code)


@register.filter
def percent(value: float | None) -> str:
    """A busy percent whose number and sign stay on one line."""
    return numbers.unbroken(common_numbers.percent(value))


@register.filter
def to_the_minute(seconds: float) -> str:
    """A duration in whole minutes, on one line."""
    return numbers.to_the_minute(seconds).replace(" ", common_numbers.NO_BREAK)


@register.filter
def share(fraction: float | None) -> str:
    """A fraction as a percent whose number and sign stay on one line."""
    return numbers.unbroken(numbers.share(fraction))


@register.filter
def measured_on(judged: JobEfficiency, run: Job) -> str:
    """What part of a run its judgement rests on: "1 of 4 nodes"."""
    nodes, missing = run.node_count, judged.missing_nodes
    known = None if nodes is None or missing is None else nodes - missing
    return numbers.unbroken(numbers.measured_on(judged.coverage_fraction, known, nodes))


@register.filter
def state(name: str) -> str:
    """A Slurm job state in small letters: OUT_OF_MEMORY is "out of memory"."""
    return name.replace("_", " ").lower()


@register.filter
def format_name(name: str) -> str:
    """The common name of a file format."""
    return FORMAT_NAMES[name]


@register.filter
def delivery_reason(reason: str) -> str:
    """Why a message was not sent, in words for staff, without information about its jobs; a mail server's text is
    kept."""
    return DELIVERY_REASONS.get(reason, reason)


@register.filter
def about(answers: Iterable[Feedback], code: str) -> list[Feedback]:
    """Those of the answers that are about one finding."""
    return [answer for answer in answers if answer.code == code]


@register.filter
def bars(shares: Iterable[ClassShare]) -> list[Rect]:
    """Shares of jobs side by side in a box of 0..100."""
    placed, x = [], 0.0
    for share in shares:
        width = share.jobs_fraction * 100
        placed.append(Rect(round(x, 2), 0.0, round(width, 2), 10.0, share.name.value.lower()))
        x += width
    return placed


@register.filter
def about_hours(value: float) -> str:
    """Billed GPU-hours to speak of: whole ones from ten on.

    >>> about_hours(104.6), about_hours(6.24)
    ('105', '6.24')
    """
    return f"{value:,.0f}" if value >= 10 else common_numbers.hours(value)


@register.filter
def points(change: float | None) -> str:
    """A change in percentage points with its sign; empty if it is not known.

    >>> points(1.25), points(-0.5), points(-0.04), points(None)
    ('+1.2 points', '−0.5 points', '+0.0 points', '')
    """
    return "" if change is None else f"{round(change, 1) + 0.0:+.1f} points".replace("-", MINUS)


@register.filter(name="metric_number")
def shown_number(value: object) -> str:
    """A value of a metric; a dash for what is not there."""
    return metric_number(value if isinstance(value, int | float) else None)


@register.filter(name="progress_rate")
def shown_rate(value: object) -> str:
    """A rate or a cost; a dash for what is not there."""
    return rate_number(value if isinstance(value, int | float) else None)
