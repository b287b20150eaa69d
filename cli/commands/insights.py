"""kaiku insights [--work NAME] [--days 90] [--json]

Your biggest savings with the lines to change, what repeats in your jobs, what followed advice saved, and what helped
others.

  --work NAME      only this work: a job name, or a key of `kaiku history --by-work --json`
  --days N         the last 7, 30, 90 or 365 days, 90 if not set
  --json           as JSON
"""

from __future__ import annotations

from cli.answers import age_lines, document, objects, print_raw, text, texts, value, whole
from cli.job_names import check_work
from cli.layout import change, wrapped
from cli.options import FLAG, TEXT, one_of
from cli.shapes import insights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

DAYS = ("7", "30", "90", "365")
OPTIONS = {"work": TEXT, "days": one_of(*DAYS), "json": FLAG}
VALUES = {"days": DAYS}
WORDS_MAX = 0

SHOWN_MAX = 5
"""Of each list: the most important come first, and the page has the rest."""


def run(session: Session) -> int:
    """One call."""
    options = session.options
    query = {"days": options.text("days", "90"), "work": options.text("work") or None}
    answer, age_s = session.get("/api/v1/insights/", query, check=insights)
    if age_s is None and options.text("work") and not objects(document(answer), "repeats"):
        check_work(session, options.text("work"))
    if options.flag("json"):
        print_raw(session, answer.content, age_s)
        return 0
    lines = lines_of(session.terminal, document(answer), str(session.address), age_lines(session, age_s))
    session.terminal.page(lines)
    return 0


def lines_of(terminal: Terminal, said: dict[str, Any], portal: str, age: list[str]) -> list[str]:
    """The portal's summary, then the lists, with a blank line between them."""
    stated = [line for sentence in texts(said, "sentences") for line in wrapped(sentence, terminal.columns)]
    parts = [
        stated or [f"No jobs counted in the last {whole(said, 'period', 'days') or 90} days"],
        # Works whose runs used no GPU come before everything that would save less.
        _works(terminal, portal, objects(said, "without_gpu_use"), _dated("No GPU used", said), "- "),
        _works(terminal, portal, objects(said, "would_save"), _dated("Biggest savings", said), "{}. "),
        _repeats(terminal, said),
        _brought(terminal, said),
        _others(terminal, said),
        age,
    ]
    return [line for part in parts if part for line in ["", *part]][1:]


def _works(terminal: Terminal, portal: str, found: list[dict[str, Any]], heading: str, mark: str) -> list[str]:
    """Works with what their runs cost, what to change, and where that is shown; `mark` has a place for the number."""
    if not found:
        return []
    lines = [terminal.paint(heading, "bold")]
    for number, each in enumerate(found[:SHOWN_MAX], 1):
        first = mark.format(number)
        named, sentence = text(each, "work", "name") or "without a name", text(each, "text") or text(each, "title")
        lines += wrapped(f"{named}: {sentence}", terminal.columns, first)
        lines += _request(terminal, each)
        lines += wrapped(text(each, "reason"), terminal.columns, " " * len(first))
        if address := text(each, "work", "url") or text(each, "run_url"):
            lines.append(f"{' ' * len(first)}{portal}{address}")
    return lines + _more(found, "work")


def _request(terminal: Terminal, said: dict[str, Any]) -> list[str]:
    """The lines to change, or the whole request."""
    changes = [change(terminal, line) for line in texts(said, "diff")]
    options = texts(said, "request")
    whole_request = wrapped(" ".join(options), terminal.columns, "     ") if options else []
    return [f"     {line}" for line in changes if line] + whole_request


def _repeats(terminal: Terminal, said: dict[str, Any]) -> list[str]:
    found = objects(said, "repeats")
    if not found:
        return []
    heading = f"{_dated('What repeats', said)}, most unused GPU-hours first"
    lines = [terminal.paint(line, "bold") for line in wrapped(heading, terminal.columns)]
    for each in found[:SHOWN_MAX]:
        lines += wrapped(text(each, "text") or text(each, "title"), terminal.columns, "- ")
    return lines + _more(found, "finding")


def _brought(terminal: Terminal, said: dict[str, Any]) -> list[str]:
    sentence = text(value(said, "brought"), "text")
    return [terminal.paint("Saved by advice", "bold"), *wrapped(sentence, terminal.columns)] if sentence else []


def _others(terminal: Terminal, said: dict[str, Any]) -> list[str]:
    """What works of many people did, where the portal may show it."""
    others = value(said, "others")
    month = text(others, "month")
    lines = []
    for heading, name in (("What helped others", "practices"), (f"Common mistakes, {month}", "mistakes")):
        found = objects(others, name)
        lines += [terminal.paint(heading, "bold")] if found else []
        for each in found[:SHOWN_MAX]:
            lines += wrapped(text(each, "text"), terminal.columns, "- ", "  ")
        lines += _more(found, name[:-1])
    return lines


def _dated(heading: str, said: dict[str, Any]) -> str:
    """The heading with the days that its figures are of."""
    days = whole(said, "period", "days")
    return f"{heading}, last {days} days" if days else heading


def _more(found: list[dict[str, Any]], noun: str) -> list[str]:
    left = len(found) - SHOWN_MAX
    return [f"   and {left} more {noun}s: --json has them"] if left > 1 else (
        [f"   and one more {noun}: --json has it"] if left == 1 else []
    )  # fmt: skip
