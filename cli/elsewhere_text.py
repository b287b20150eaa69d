"""`kaiku elsewhere` for people: the same request on other partitions and platforms, as it is and right-sized."""

from __future__ import annotations

from cli.answers import number, objects, text, texts, value
from cli.check_text import shape_text
from cli.layout import NOT_KNOWN, duration, hours
from cli.sections import indented, whole_table
from cli.suggested import change_line, changes_of
from cli.terminal import harmless
from wire.sbatch.sharing import resource_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.check_text import Lines
    from wire.sbatch.script import Component

HEAD = ("platform", "request", "GPUs", "cost", "run time", "wait")
OWN_PRICES = "site profile"
"""The source of the prices of the site's own partitions."""
WAYS = (("as_is", "as it is"), ("right_sized", "right-sized"))
AT = {"limit": "at most "}
ENDED = "ended"
"""What its time limit ends before a run of typical length is done."""


def elsewhere_lines(into: Lines, components: Sequence[Component], answer: dict[str, Any]) -> None:
    """The answer, component by component."""
    found = objects(answer, "components")
    for place, (component, said) in enumerate(zip(components, found)):
        if len(found) > 1:
            into.heading(f"Component {place + 1} of {len(found)}")
        into.labelled("Refused", text(said, "refused"), "red")
        into.labelled("Request", shape_text(value(said, "shape")))
        into.labelled("Earlier runs", text(said, "earlier_runs", "text"))
        _right_sized_lines(into, component, said)
        _platform_lines(into, said)
    into.points("Note", texts(answer, "sentences"))


def _right_sized_lines(into: Lines, component: Component, said: dict[str, Any]) -> None:
    """What is meant by right-sized: the changes that `kaiku check` suggests, or why there are none."""
    suggestion = value(said, "suggestion")
    if not suggestion:
        into.labelled("Right-sized", text(said, "no_suggestion"))
        return
    into.labelled("Right-sized", "with the changes that kaiku check suggests:")
    for change in changes_of(suggestion, resource_options(component)):
        into.plain(indented(harmless(change_line(change)), into.columns))


def _platform_lines(into: Lines, said: dict[str, Any]) -> None:
    platforms = objects(said, "elsewhere")
    if not platforms:
        into.labelled("Platforms", "the portal lists none for this request.")
        return
    into.blank()
    own = text(said, "shape", "partition")
    rows = [row for each in platforms for row in _rows(each, own)]
    # Without any estimate of a wait there is nothing to show in the last column.
    shown = len(HEAD) if any(row[-1] != NOT_KNOWN for row in rows) else len(HEAD) - 1
    cells = [row[:shown] for row in rows]
    into.plain(whole_table(HEAD[:shown], cells, into.columns, to_right=(2, 4, 5)) if rows else [])
    into.blank()
    into.points("Does not fit", [_why_not(each) for each in platforms if each.get("fits") is not True])
    into.points("Note", _notes(platforms))
    into.points("Wait", _waits(platforms))
    into.labelled("Choice", text(said, "elsewhere_text"), "bold")
    into.points("Prices", _prices(platforms))


def _why_not(said: dict[str, Any]) -> str:
    """Why a place does not fit; most reasons name it themselves."""
    name, why = text(said, "platform"), text(said, "why_not")
    return why if name in why else f"{name}: {why or 'the request does not fit.'}"


def _notes(platforms: list[dict[str, Any]]) -> list[str]:
    """What the numbers of the table are of, where that is not plain."""
    notes = []
    if any(text(each, way, "at") == "typical" for each in platforms for way, _ in WAYS):
        notes.append('Costs are of the typical run time of your earlier runs, those with "at most" of the time limit.')
    for way, label in WAYS:
        ended = [each for each in platforms if text(each, way, "at") == ENDED]
        if ended:
            names = ", ".join(text(each, "platform") for each in ended)
            notes.append(f"{names}, {label}: ends at its time limit before a run of typical length is done.")
    for each in platforms:
        fewer, gpus = number(each, "right_sized", "gpus"), number(each, "as_is", "gpus")
        cost = number(each, "right_sized", "cost")
        is_smaller = fewer is not None and gpus is not None and fewer < gpus
        if is_smaller and cost is not None and cost == number(each, "as_is", "cost"):
            notes.append(f"{text(each, 'platform')}: fewer GPUs cost the same there.")
    return notes


def _prices(platforms: list[dict[str, Any]]) -> list[str]:
    """Where prices come from, but for those that the site itself bills by."""
    named: dict[str, list[str]] = {}
    for each in platforms:
        if (source := text(each, "source")) not in ("", OWN_PRICES):
            named.setdefault(source, []).append(text(each, "platform"))
    return [f"{', '.join(names)}: {source}" for source, names in named.items()]


def _rows(said: dict[str, Any], own: str) -> list[list[str]]:
    """The rows of a platform; the first has its name."""
    rows: list[list[str]] = []
    for way, label in WAYS:
        shown = value(said, way)
        if not shown:
            continue
        gpus = number(shown, "gpus")
        times = [duration(number(shown, "run_time_s")), duration(number(shown, "wait", "typical_s"))]
        cells = [label, "" if gpus is None else f"{gpus:,.0f}", _cost(shown), *times]
        name = text(said, "platform") + (" (yours)" if text(said, "platform") == own else "")
        rows.append([name if not rows else "", *cells])
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
