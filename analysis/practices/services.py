"""The months of what many works did together: how one is added up."""

from collections.abc import Callable
from datetime import date

from analysis.anonymous.bands import ProgramOf
from analysis.findings import FindingCode
from analysis.months.kind import MonthKind
from analysis.months.selectors import month_ends, next_month
from analysis.outcomes.following import OF_KIND
from analysis.outcomes.selectors import SETTLED_AFTER
from analysis.outcomes.services import ADVICE
from analysis.practices.figures import HALF, Change, MonthPractices, WorkFindings, mistake_figures, practice_figures
from analysis.practices.selectors import first_day_of, work_findings, works_advised, works_halved, works_of_people

KINDS = (HALF, *OF_KIND)


def practice_months(programs: Callable[[], ProgramOf]) -> MonthKind:
    """What many works did in the months whose advice is added up.

    `programs` tells programs from the names of jobs; it is read where a month is due.
    """
    return MonthKind(
        code="practices",
        title="practices",
        after=SETTLED_AFTER,
        follows=ADVICE.code,
        figures=lambda month, now: _figures(month, programs()),
    )


def _figures(month: date, program_of: ProgramOf) -> MonthPractices:
    since = {kind: first_day_of(kind, month) for kind in KINDS}
    first, until = min(since.values()), next_month(month)
    changes: dict[str, list[Change]] = {
        kind: [change for at, change in found if at >= month_ends(since[kind])[0]]
        for kind, found in works_advised(first, until, program_of).items()
    }
    findings: list[WorkFindings] = []
    halved: list[Change] = []
    start, end = month_ends(since[HALF])[0], month_ends(month)[1]
    for works in works_of_people(since[HALF], until):
        findings += work_findings(works, month)
        halved += [change for at, change in works_halved(works, program_of) if start <= at < end]
    changes[HALF] = halved
    return MonthPractices(
        practices=[
            each for kind in KINDS for each in practice_figures(kind, since[kind].isoformat(), changes.get(kind, []))
        ],
        mistakes=mistake_figures(findings, [code.value for code in FindingCode]),
    )
