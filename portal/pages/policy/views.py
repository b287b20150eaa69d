"""Policy: the policy export of a closed month as a table, with its downloads, for staff and policy readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.feedback import GROUP_USERS_MIN
from analysis.policy.figures import FEW_JOBS, PROJECT, SHARES, USER
from analysis.policy.selectors import lines_of, policy_months, withheld_counts
from analysis.policy.suggestion import JOBS_MIN, LEAST, MOST
from analysis.site.selectors import CLOSED_AFTER
from analysis.thresholds import LIMITS
from jobs.audit.services import by_person
from portal.access import person, policy_page
from portal.charts.site_claims import WITHHELD_WORDS
from portal.policy_reading import FORMATS, NoSuchPeriod, log_reading, reading, what_of
from reports.numbers import share, unbroken
from wire.classes import CLASS_NAMES
from wire.numbers import counted

PAGE_SIZE = 50
ONE_MONTH = "This page shows one month; since and until apply to downloads."

HIDDEN = "withheld"
FEW_JOBS_WORDS = f"withheld: the range of jobs of this user begins below {JOBS_MIN}"
KINDS = {PROJECT: "Projects", USER: "Users"}
"""The tables in their order on the page."""


@policy_page
def policy(request: HttpRequest) -> HttpResponse:
    """Projects or users, with `?by=user`, of the latest closed month or of one of those shown with `?period=`."""
    months = policy_months()
    period = next((str(month) for month in months if str(month) == request.GET.get("period")), None)
    by = next((kind for kind in KINDS if kind == request.GET.get("by")), PROJECT)
    asked = reading(period=period, by=by)
    page = Paginator(asked.rows, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [page_row(line) for line in lines_of(asked.rows.filter(pk__in=[row.pk for row in page]))]
    log_reading(by_person(person(request)), what_of(asked), f"page {page.number}", len(rows))
    context = {
        "months": [(month.first_day, str(month)) for month in reversed(months)],
        "shown": asked.months[0] if asked.months else None,
        "kinds": KINDS.items(),
        "by": by,
        "page": page,
        "rows": rows,
        "withheld": withheld_lines(withheld_counts(asked.rows)),
        "formats": FORMATS,
        **{"users_min": GROUP_USERS_MIN, "closed_days": CLOSED_AFTER.days, "least": LEAST, "most": MOST},
        "limits": LIMITS,
        **{
            "jobs_min": JOBS_MIN,
            "least_of_range": "" if by == PROJECT else ", at least",
            "not_shown": not_shown(request.GET),
        },
        "is_named": settings.POLICY_NAMES,
    }
    return render(request, "portal/policy/policy.html", context)


def not_shown(asked: Mapping[str, str]) -> str:
    """Why the page does not show the months that its address asks for; empty where it does."""
    given = {name: asked[name] for name in ("period", "since", "until", "by") if name in asked}
    try:
        reading(**given)
    except (ValueError, NoSuchPeriod) as error:
        return str(error)
    return ONE_MONTH if {"since", "until"} & set(given) else ""


@dataclass(frozen=True)
class PolicyPageRow:
    """One project or user; only `name` and `withheld` where its figures are withheld.

    `few_jobs` states why most figures of a user are.
    """

    name: str
    withheld: str = ""
    few_jobs: str = ""
    jobs: str = ""
    gpu_hours: str = ""
    score: str = ""
    unused: str = ""
    advice: str = ""
    by_gpu_hours: str = ""
    by_jobs: str = ""
    flag: str = ""
    coverage: str = ""
    followed: str = ""
    multiplier: str = ""


def page_row(line: Mapping[str, Any]) -> PolicyPageRow:
    """A row of the export in words."""
    name = line["name"] or line["key"]
    if line["withheld"]:
        return PolicyPageRow(name, WITHHELD_WORDS[line["withheld"]])
    score = line["efficiency_score"]
    is_few = line["withheld_columns_reason"] == FEW_JOBS
    by_gpu_hours, by_jobs = (classes(line[column]) for column in SHARES)
    return PolicyPageRow(
        name=name,
        few_jobs=FEW_JOBS_WORDS if is_few else "",
        jobs=number(line["jobs"]),
        gpu_hours=number(line["gpu_hours"]),
        score="not measured" if score is None else f"{score:.0f}\u00a0%",
        unused=number(line["unused_gpu_hours"]),
        advice=_of(line["advice_gpu_hours"], line["advice_fraction"]),
        by_gpu_hours=by_gpu_hours,
        by_jobs=by_jobs,
        flag={True: "raised", False: "–", None: HIDDEN}[line["flag"]],
        coverage=HIDDEN if is_few else unbroken(share(line["coverage_fraction"])),
        followed=followed(line["followed_runs"], line["followed_gpu_hours"]),
        multiplier=f"{line['suggested_multiplier']:.2f}",
    )


def number(value: float | None) -> str:
    """A rounded number.

    >>> number(12350.0), number(None)
    ('12,350', 'withheld')
    """
    return HIDDEN if value is None else f"{value:,.10g}"


def _of(hours: float | None, fraction: float | None) -> str:
    return HIDDEN if hours is None or fraction is None else f"{number(hours)} ({unbroken(share(fraction))})"


def classes(shares: Mapping[str, float] | None) -> str:
    """The classes that occur, each with its part.

    >>> classes({"efficient": 0.25, "acceptable": 0.0, "inefficient": 0.75, "wasted": 0.0, "unknown": 0.0})
    'Efficient 25\\xa0%, Inefficient 75\\xa0%'
    """
    if shares is None:
        return HIDDEN
    found = ((CLASS_NAMES[name.upper()], part) for name, part in shares.items() if part)
    return ", ".join(f"{name} {unbroken(share(part))}" for name, part in found)


def followed(runs: int | None, hours: float | None) -> str:
    """How many runs followed advice, and what that saved."""
    if runs is None:
        return HIDDEN
    saved = "" if not hours else f", {unbroken(counted(hours, 'GPU-hour'))} saved"
    return f"{counted(runs, 'job')}{saved}" if runs else "–"


def withheld_lines(counts: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many rows are withheld for each reason, a sentence each."""
    return [f"{counted(each['rows'], each['kind'])} {WITHHELD_WORDS[each['reason']]}" for each in counts]
