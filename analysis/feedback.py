"""Sums of people's answers to "was this right?", shown only where nobody can be identified by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GROUP_USERS_MIN = 5
USER_FRACTION_MAX = 0.85
"""Sums are shown for at least this many people, none with more than this share (domain, section 8)."""


@dataclass(frozen=True)
class Answers:
    """The answers to one finding under one version of the rules; `right` and `wrong` None while withheld."""

    code: str
    rules_version: str
    right: int | None
    wrong: int | None

    @property
    def right_fraction(self) -> float | None:
        """The share of answers that found it right, 0..1."""
        return None if self.right is None or self.wrong is None else self.right / (self.right + self.wrong)


def is_anonymous(parts: Sequence[float]) -> bool:
    """Whether a sum of one part for each person hides every single person.

    >>> is_anonymous([1, 1, 1, 1, 1]), is_anonymous([1, 1, 1, 1]), is_anonymous([96, 1, 1, 1, 1])
    (True, False, False)
    """
    return len(parts) >= GROUP_USERS_MIN and max(parts) <= USER_FRACTION_MAX * sum(parts)


def answers(rows: Iterable[tuple[str, str, int, int, int]]) -> list[Answers]:
    """Rows of (code, rules version, user, right, wrong) added up by code and version, the newest version first."""
    by_rule: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for code, version, _, right, wrong in rows:
        by_rule[version, code].append((right, wrong))
    in_order = sorted(by_rule, key=lambda rule: rule[1])
    in_order.sort(key=lambda rule: _natural(rule[0]), reverse=True)
    return [Answers(code, version, *_sums(by_rule[version, code])) for version, code in in_order]


def _natural(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def _sums(given: Sequence[tuple[int, int]]) -> tuple[int | None, int | None]:
    if not is_anonymous([right + wrong for right, wrong in given]):
        return None, None
    return sum(right for right, _ in given), sum(wrong for _, wrong in given)
