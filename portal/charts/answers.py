"""People's answers to "was this right?" in a closed month, as rows of a table."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.answers.figures import WRONG, FindingAnswers
from analysis.models import Feedback
from reports.wording import TITLES

NAMES = {Feedback.VERDICT: "The class of the job", **{code.value: title for code, title in TITLES.items()}}


@dataclass(frozen=True)
class AnswerRow:
    """One finding: about how many answers, the range in which those that state "wrong" lie, and its shares."""

    name: str
    answers: str
    wrong: str
    wrong_share: str


def answer_rows(figures: Iterable[FindingAnswers]) -> list[AnswerRow]:
    """The findings, those that were most often wrong first."""
    in_order = sorted(figures, key=lambda each: (-wrong_range(each)[0] / each.answers, each.code))
    return [_row(each) for each in in_order]


def wrong_range(figures: FindingAnswers) -> tuple[int, int]:
    """The fewest and the most answers "wrong", as far as what is shown allows.

    >>> wrong_range(FindingAnswers("timeout", 20, "wrong", 5, 5)), wrong_range(FindingAnswers("x", 20, "right", 5, 5))
    ((5, 9), (11, 15))
    """
    fewest, most = figures.rarer_from, min(figures.rarer_from + figures.width - 1, figures.answers)
    return (fewest, most) if figures.rarer == WRONG else (figures.answers - most, figures.answers - fewest)


def _row(figures: FindingAnswers) -> AnswerRow:
    fewest, most = wrong_range(figures)
    # In whole percent outwards: the range of shares holds the range of counts.
    low, high = 100 * fewest // figures.answers, -(-100 * most // figures.answers)
    return AnswerRow(
        NAMES.get(figures.code, figures.code),
        f"about {figures.answers:,}",
        f"{fewest:,}–{most:,}",
        f"{low}–{high}\u00a0%",
    )
