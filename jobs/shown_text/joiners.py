"""Text to be shown: cut to a length, and joiners without width, which spell Persian, Hindi and emoji or only hide."""

import re
import unicodedata

from wire.safe_text import REPLACED, UNPRINTABLE_IN_LINES

JOINERS = frozenset("\u200c\u200d")
BLANK_LETTERS = frozenset("\u2800")
"""Characters that count as symbols and show nothing."""


def without_stray_marks(text: str, instead: str = REPLACED) -> str:
    """The text with every control and invisible character replaced but line ends, tabs and joiners inside a word.

    >>> without_stray_marks("a\\u202eb\\u200c"), without_stray_marks("a\\u202eb", "")
    ('a�b�', 'ab')
    >>> without_stray_marks("\\u0645\\u06cc\\u200c\\u062e") == "\\u0645\\u06cc\\u200c\\u062e"
    True
    """

    def kept(found: re.Match[str]) -> str:
        return found[0] if found[0] in JOINERS and _joins(text, found.start()) else instead

    return UNPRINTABLE_IN_LINES.sub(kept, text)


def can_be_seen(text: str) -> bool:
    """Whether anything of the text shows: a letter, a number, a sign or an emoji.

    >>> can_be_seen("a"), can_be_seen(" \\ufe0f"), can_be_seen("")
    (True, False, False)
    """
    return any(unicodedata.category(letter)[0] not in "CMZ" for letter in text if letter not in BLANK_LETTERS)


def _joins(text: str, place: int) -> bool:
    """Whether a letter or an emoji stands on both sides; their accents, variants and skin tones belong to them."""
    return 0 < place < len(text) - 1 and all(_is_joined(text[near]) for near in (place - 1, place + 1))


def _is_joined(letter: str) -> bool:
    if UNPRINTABLE_IN_LINES.match(letter):
        return False
    category = unicodedata.category(letter)
    return category[0] in "LM" or category in ("So", "Sk")


def shortened(text: str, length_max: int) -> str:
    """The text in at most so many characters; what is left out leaves a mark.

    >>> shortened("loss", 5), shortened("perplexity", 5)
    ('loss', 'perp…')
    """
    return text if len(text) <= length_max else f"{text[: length_max - 1]}…"
