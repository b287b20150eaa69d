"""The months of people's answers: how one is added up."""

from analysis.answers.figures import month_answers
from analysis.answers.selectors import given_in_month, months_with_answers
from analysis.months.kind import MonthKind
from analysis.site.selectors import CLOSED_AFTER

ANSWERS = MonthKind(
    code="answers",
    title="answers",
    after=CLOSED_AFTER,
    having=months_with_answers,
    figures=lambda month, now: month_answers(given_in_month(month)),
)
