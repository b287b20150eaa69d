"""The months that are anonymised for other sites: how one is made, checked before it is stored."""

import secrets
from collections.abc import Callable
from datetime import date

from analysis.anonymous.bands import ProgramOf
from analysis.anonymous.month import AnonymousFigures, figures_of
from analysis.anonymous.selectors import CODE, runs_to_anonymise
from analysis.months.kind import MonthKind
from analysis.site.selectors import CLOSED_AFTER

SECRET_BYTES = 32


def anonymous_months(programs: Callable[[], ProgramOf]) -> MonthKind:
    """The anonymised rows of the months that the site closed: every export of a month is the same.

    `programs` tells programs from the names of jobs; it is read where a month is due.
    """
    return MonthKind(
        code=CODE,
        title="rows for other sites",
        after=CLOSED_AFTER,
        follows="site",
        figures=lambda month, now: _figures(month, programs()),
    )


def _figures(month: date, program_of: ProgramOf) -> AnonymousFigures:
    # The secret of the keys exists in this call alone, and is never stored.
    return figures_of(runs_to_anonymise(month, program_of), secrets.token_bytes(SECRET_BYTES))
