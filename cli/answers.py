"""Values out of answers, whatever the answer is: what is missing or of another kind counts as not stated.

Every text is harmless when it comes out, one line, and limited in length, so that callers need not think of it.
"""

from __future__ import annotations

from cli.errors import NoAnswer
from cli.session import age_told
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.http_answer import Answer
    from cli.session import Session

TEXT_MAX = 2000
"""Characters; the longest sentence of a report has a third of it."""


def document(answer: Answer) -> dict[str, Any]:
    """The object in an answer. Raises NoAnswer if it is none."""
    said = answer.json()
    if not isinstance(said, dict):
        raise NoAnswer("the portal's answer is not one to this: check KAIKU_URL")
    return said


def age_line(session: Session, age_s: float | None) -> str:
    """How old a stored answer is, and why it is shown; empty for one that the portal has just given."""
    if age_s is None:
        return ""
    age = f"as it was {age_told(age_s)} ago"
    why = "" if session.options.flag("offline") else ": the portal did not answer"
    return f"{age}{why}" if len(age + why) <= session.terminal.columns else age


def age_lines(session: Session, age_s: float | None) -> list[str]:
    """The same in its colour; no line for an empty one."""
    age = age_line(session, age_s)
    return [session.terminal.paint(age, "yellow")] if age else []


def print_raw(session: Session, content: bytes, age_s: float | None) -> None:
    """A document for programs, as it came; its age is on standard error."""
    session.terminal.raw(content.rstrip(b"\n") + b"\n")
    if age_s is not None:
        session.terminal.flush()
        session.terminal.error(f"kaiku: {age_line(session, age_s)}")


def value(said: object, *path: str) -> object:
    """What is at this path of names; None for nothing.

    >>> value({"a": {"b": 1}}, "a", "b"), value({"a": 1}, "a", "b")
    (1, None)
    """
    for name in path:
        if not isinstance(said, dict):
            return None
        said = said.get(name)
    return said


def text(said: object, *path: str) -> str:
    """A text, harmless; numbers as they are written, anything else empty.

    >>> text({"name": "a\\x1bb"}, "name"), text({"id": 5}, "id"), text({}, "name")
    ('a\\ufffdb', '5', '')
    """
    found = value(said, *path)
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        return ""
    return harmless(str(found)[:TEXT_MAX])


def number(said: object, *path: str) -> float | None:
    """A finite number; None for anything else.

    >>> number({"n": 2}, "n"), number({"n": True}, "n"), number({"n": float("nan")}, "n")
    (2.0, None, None)
    """
    found = value(said, *path)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not -1e300 < found < 1e300:
        return None
    return float(found)


def whole(said: object, *path: str) -> int:
    """A count; 0 where none is stated."""
    return round(number(said, *path) or 0.0)


def objects(said: object, *path: str) -> list[dict[str, Any]]:
    """A list of objects, without what is none."""
    found = value(said, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts(said: object, *path: str) -> list[str]:
    """A list of texts, harmless."""
    found = value(said, *path)
    return [harmless(item[:TEXT_MAX]) for item in found if isinstance(item, str)] if isinstance(found, list) else []
