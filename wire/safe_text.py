"""Text that others wrote, without anything that a terminal or a page obeys, or that nobody sees."""

from __future__ import annotations

import re

# Line ends, other controls, surrogates, and what changes directions or has no width (Default_Ignorable_Code_Point of
# Unicode 16, but for the variants of emoji; U+FFF9-FFFB).
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
UNPRINTABLE = re.compile(rf"[\x00-\x1f\x7f-\x9f{UNSEEN}]")
UNPRINTABLE_IN_LINES = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{UNSEEN}]")
"""The same for text of several lines."""

REPLACED = "\ufffd"


def printable(text: str) -> str:
    """The text with each control or invisible character replaced by U+FFFD, which is visible.

    >>> printable("two\\nlines"), printable("exe\\u202egpj"), printable("a\\u200bb")
    ('two�lines', 'exe�gpj', 'a�b')
    """
    return UNPRINTABLE.sub(REPLACED, text)


def printable_lines(text: str) -> str:
    """The same for text that may have several lines and tabs.

    >>> printable_lines("two\\nlines\\u2066")
    'two\\nlines�'
    """
    return UNPRINTABLE_IN_LINES.sub(REPLACED, text)
