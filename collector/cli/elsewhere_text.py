"""`kaiku elsewhere` for people: the same request on other partitions and platforms, as it is and right-sized."""

from __future__ import annotations

from collector.cli.answers import number, objects, text, texts, value
from collector.cli.check_text import shape_text
from collector.cli.layout import duration, hours
from collector.cli.sections import whole_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.cli.check_text import Lines

HEAD = ("platform", "request", "GPUs", "cost", "wait", "run time")
WAYS = (("as_is", "as it is"), ("right_sized", "right-sized"))
AT = {"limit": "at most "}


def elsewhere_lines(into: Lines, answer: dict[str, Any]) -> None:
    """The answer, component by component."""
    found = objects(answer, "components")
    for place, said in enumerate(found):
        if len(found) > 1:
            into.heading(f"Component {place + 1} of {len(found)}")
        into.labelled("Refused", text(said, "refused"), "red")
        into.labelled("Request", shape_text(value(said, "shape")))
        into.labelled("Earlier runs", text(said, "earlier_runs", "text"))
        _platform_lines(into, said)
    into.points("Note", texts(answer, "sentences"))


def _platform_lines(into: Lines, said: dict[str, Any]) -> None:
    platforms = objects(said, "elsewhere")
    if not platforms:
        into.labelled("Platforms", "the portal lists none for this request.")
        return
    into.blank()
    rows = [row for each in platforms for row in _rows(each)]
    into.plain(whole_table(HEAD, rows, into.columns, to_right=(2, 4, 5)) if rows else [])
    into.blank()
    for each in platforms:
        if each.get("fits") is not True:
            into.labelled(text(each, "platform"), text(each, "why_not") or "does not fit")
    into.points("Wait", _waits(platforms))
    into.points("Choice", [line for line in (text(said, "elsewhere_text"),) if line], "bold")
    into.points("Prices", sorted({line for each in platforms if (line := text(each, "source"))}))


def _rows(said: dict[str, Any]) -> list[list[str]]:
    """The rows of a platform; the first has its name."""
    rows: list[list[str]] = []
    for way, label in WAYS:
        shown = value(said, way)
        if not shown:
            continue
        gpus = number(shown, "gpus")
        times = [duration(number(shown, "wait", "typical_s")), duration(number(shown, "run_time_s"))]
        cells = [label, "" if gpus is None else f"{gpus:,.0f}", _cost(shown), *times]
        rows.append([text(said, "platform") if not rows else "", *cells])
    return rows


def _cost(said: object) -> str:
    cost, unit = number(said, "cost"), text(said, "unit")
    if cost is None:
        return "not known"
    plural = "s" if unit == "GPU-hour" and cost != 1 else ""
    return f"{AT.get(text(said, 'at'), '')}{hours(cost)}\u00a0{unit}{plural}"


def _waits(platforms: list[dict[str, Any]]) -> list[str]:
    """What each typical wait rests on: its range, the number of starts and how often such ranges were right."""
    said = [
        f"{text(each, 'platform')}, {label}: {text(each, way, 'wait', 'text')}"
        for each in platforms
        for way, label in WAYS
        if text(each, way, "wait", "text")
    ]
    return list(dict.fromkeys(said))
