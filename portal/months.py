"""Every kind of figures that is closed month by month: workers, `manage.py close_months` and System read this list."""

from analysis.anonymous.services import anonymous_months
from analysis.answers.services import ANSWERS
from analysis.months.kind import MonthKind
from analysis.outcomes.services import ADVICE
from analysis.policy.services import POLICY
from analysis.practices.services import practice_months
from analysis.predictions.services import PREDICTIONS
from analysis.site.services import site_months
from portal.charts.programs import program_codes, program_titles

SITE = site_months()
MONTHS: tuple[MonthKind, ...] = (
    SITE,
    POLICY,
    anonymous_months(program_codes),
    ADVICE,
    practice_months(program_titles),
    ANSWERS,
    PREDICTIONS,
)
"""Those that follow others stand behind them."""
