"""Pages of long answers: how many there are in one, and where the next one begins; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from portal.mlflow.answers import invalid

Found = TypeVar("Found")

TOKEN = re.compile(r"[0-9]{1,9}")


def page_of(
    found: Sequence[Found], token: str | None, wanted: int | None, count_max: int
) -> tuple[Sequence[Found], dict[str, str]]:
    """The page that begins where the token states, and the members of an answer that name the next one.

    Raises Refused.

    >>> page_of("abcde", "2", 2, 10), page_of("abcde", "4", None, 10)
    (('cd', {'next_page_token': '4'}), ('e', {}))
    """
    begin = begin_of(token)
    end = begin + size_of(wanted, count_max)
    return found[begin:end], next_page(end) if end < len(found) else {}


def begin_of(token: str | None) -> int:
    """The place that a token states. Raises Refused."""
    if not token:
        return 0
    if not TOKEN.fullmatch(token):
        raise invalid("The page token is not one that this portal gave.")
    return int(token)


def next_page(begin: int) -> dict[str, str]:
    """The member of an answer that names the page that begins there."""
    return {"next_page_token": str(begin)}


def size_of(wanted: int | None, count_max: int) -> int:
    """How many are in a page where a client wants this many. Raises Refused."""
    if wanted is None:
        return count_max
    if wanted < 1:
        raise invalid("max_results must be at least 1.")
    return min(wanted, count_max)
