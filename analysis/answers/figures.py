"""What may be shown of a month's answers to "was this right?", by finding, so that nobody's answer is revealed.

A finding is shown if at least 5 people answered, none of them gave more than 85 % of the answers, and so on as for
hours (`analysis.site.suppression.reason_of`). Even then an exact count could be subtracted: one who knows how all but
one answered reads the last answer from it. Therefore only the range is kept in which the count of the rarer answer
lies. A range is wider than what two people can have answered who pool what they know of themselves, so both answers of
everybody else remain possible, also for somebody who knows how many answers each person gave (the attacker in
`tests/analysis/answers` tries all of them).

No total over findings exists from which the shown ones could be subtracted, and a finding that may not be shown is not
named: its first answer changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from analysis.site.suppression import POOLED_PEOPLE, nice_step, reason_of

WIDTHS_MIN = 2
"""A finding has at least this many widths of a range in answers, or a range would be most of them."""

RIGHT, WRONG = "right", "wrong"

Given = tuple[int, int]
"""How often one person answered "right" and how often "wrong"."""


class FindingAnswers(msgspec.Struct):
    """The answers to one finding in one month.

    About `answers` were given (to the nearest `width`); `rarer` is "right" or "wrong", and from `rarer_from` to
    `rarer_from + width - 1` of them were that.
    """

    code: str
    answers: int
    rarer: str
    rarer_from: int
    width: int


def month_answers(rows: Iterable[tuple[str, int, int, int]]) -> list[FindingAnswers]:
    """Rows of (code, user, right, wrong), one for each person and code, as what may be kept, in the order of codes."""
    by_code: dict[str, list[Given]] = defaultdict(list)
    for code, _, right, wrong in rows:
        by_code[code].append((right, wrong))
    found = (answers_of(code, given) for code, given in sorted(by_code.items()))
    return [each for each in found if each]


def answers_of(code: str, given: Sequence[Given]) -> FindingAnswers | None:
    """What may be kept of one finding; None where nothing may.

    >>> shown = answers_of("timeout", [(1, 0)] * 8 + [(0, 1)] * 3)
    >>> shown.answers, shown.rarer, shown.rarer_from, shown.width
    (10, 'wrong', 0, 5)
    """
    of_people = np.array([right + wrong for right, wrong in given], dtype=np.float64)
    width = width_of(int(of_people.max(initial=0)))
    count = int(of_people.sum())
    if reason_of(of_people) or count < WIDTHS_MIN * width:
        return None
    right = sum(right for right, _ in given)
    rarer, least = (RIGHT, right) if 2 * right < count else (WRONG, count - right)
    return FindingAnswers(code, (2 * count + width) // (2 * width) * width, rarer, least // width * width, width)


def width_of(most: int) -> int:
    """The width of a range where nobody gave more than `most` answers: 5, 10, 20, 50 and so on.

    Two people who pool their answers know at most `2 * most` of them; at least two more stay open.

    >>> width_of(1), width_of(2), width_of(4), width_of(5), width_of(24)
    (5, 10, 10, 20, 50)
    """
    return max(round(nice_step(POOLED_PEOPLE * most + 2)), 5)
