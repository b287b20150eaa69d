"""How values and tables are laid out on a terminal, for every command.

- `duration`, `percent`, `hours`, `gigabytes`, `date`: one value with its unit, as the reports of the portal write it;
  `NOT_KNOWN` where it is not.
- `spread`: a range of the API (`n`, `typical`, `low`, `high`) as "3 h 12 min (2 h 50 min–3 h 40 min)".
- `change`: a line of a suggested request, "--gpus=8 -> --gpus=2", as what to do.
- `wrapped`: a sentence as lines of a width; a number and its unit, and an option, stay together.
- `fitting`: the parts of a line that fit.
- `Column` and `table`: rows within a width, where the least important columns are left out first and texts are cut.
- `use_bar`: a bar of GPU use in the colour of its class.

Texts that come in are harmless already (`cli.answers`); lines that come out are ready for `Terminal.line`.
"""

from __future__ import annotations

import time

from cli.answers import number
from cli.terminal import bar, cut, pad, width
from wire import numbers
from wire.classes import CLASS_NAMES, class_of
from wire.numbers import NO_BREAK, UNITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cli.terminal import Terminal

NOT_KNOWN = "–"
COLOURS = dict(zip(CLASS_NAMES, ("green", "cyan", "yellow", "red", "")))
"""The colour of each class."""
RECENT_S = 300 * 86400
GAP = "  "
"""Between two columns of a table."""
CHANGE_INDENT = 6
"""At most so many columns stand before a change."""
LINES_MAX = 40
"""Of one sentence, however narrow the terminal is."""


def _with_its_unit(written: Callable[[float | None], str]) -> Callable[[float | None], str]:
    """A number as reports write it, on one line with its unit; `NOT_KNOWN` where there is none."""

    def shown(value: float | None) -> str:
        if value is None:
            return NOT_KNOWN
        text = written(value)
        for unit in UNITS:
            text = text.replace(f" {unit}", NO_BREAK + unit)
        return text

    return shown


percent, hours = _with_its_unit(numbers.percent), _with_its_unit(numbers.hours)
gigabytes, duration = _with_its_unit(numbers.gigabytes), _with_its_unit(numbers.duration)


def count(value: float | None) -> str:
    """A number as short as it is exact to two decimals.

    >>> count(8.0), count(2.5), count(1200.0), count(None)
    ('8', '2.5', '1,200', '–')
    """
    return NOT_KNOWN if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def date(written: str, *, is_short: bool = False) -> str:
    """An instant of RFC 3339 in UTC as it is on this machine's clock; what cannot be read stays as it is written.

    Short is like in `ls -l`: without the year, or for what is long ago without the time. `datetime` would cost a third
    of a start of Python.
    """
    at = instant(written)
    if at is None:
        return written[:20] or NOT_KNOWN
    form = "%Y-%m-%d %H:%M"
    if is_short:
        form = "%m-%d %H:%M" if 0 <= time.time() - at < RECENT_S else "%Y-%m-%d"
    return time.strftime(form, time.localtime(at))


def instant(written: str) -> float | None:
    """Seconds since 1970 of an instant in UTC; None if it is none.

    >>> instant("1970-01-02T00:00:01Z"), instant("2026-11-20T12:00:00.5+00:00"), instant("soon")
    (86401.0, 1795176000.0, None)
    """
    parts = (written[0:4], written[5:7], written[8:10], written[11:13], written[14:16], written[17:19])
    if not all(part.isascii() and part.isdigit() for part in parts) or written[19:].lstrip(".0123456789") not in (
        "Z", "+00:00", "",
    ):  # fmt: skip
        return None
    year, month, day, hour, minute, second = map(int, parts)
    if not (1970 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    # Days since 1970 by the Gregorian calendar, its year beginning in March.
    shifted = year - (month < 3)
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day
    return float((days - 719469) * 86400 + hour * 3600 + minute * 60 + second)


def plain(value: float | None) -> str:
    """A number for programs, to six digits after the point; empty where it is not known.

    >>> plain(2.50), plain(12.0), plain(None)
    ('2.5', '12', '')
    """
    return "" if value is None else f"{value:.6f}".rstrip("0").rstrip(".")


def spread(said: object, *path: str, written: Callable[[float | None], str] = count) -> str:
    """A range of the API: its typical value, and the middle half of the runs where it is known and not the same.

    >>> spread({"n": 5, "typical": 2, "low": 2, "high": 3}), spread({"n": 1, "typical": 2}), spread(None)
    ('2 (2–3)', '2', '–')
    """
    typical, low, high = (number(said, *path, name) for name in ("typical", "low", "high"))
    shown = written(typical)
    if typical is None or low is None or high is None or written(low) == written(high) == shown:
        return shown
    return f"{shown} ({written(low)}–{written(high)})"


def change(terminal: Terminal, line: str) -> str:
    """A line of a suggested request as what to do: what it was, plain, and what to write, in bold; empty for no change.

    The API writes "--gpus=8 -> --gpus=2", "(not set) -> --mem=120G", "--exclusive -> (leave out)", or an option alone.
    """
    before, arrow, after = line.partition(" -> ")
    room = max(terminal.columns - CHANGE_INDENT, 24)
    if before == after:
        return ""
    if not arrow:
        return terminal.paint(cut(line, room), "bold")
    if before == "(not set)":
        return f"add {terminal.paint(cut(after, room - 4), 'bold')}"
    if after in ("", "(leave out)"):
        return f"leave out {terminal.paint(cut(before, room - 10), 'bold')}"
    after = cut(after, room - 11)
    return f"{cut(before, room - 3 - width(after))} → {terminal.paint(after, 'bold')}"


def wrapped(
    text: str, columns: int, first: str = "", later: str | None = None, lines_max: int = LINES_MAX
) -> list[str]:
    """A paragraph as lines of at most this many columns, the first after `first`, the others after `later`.

    What does not fit into `lines_max` lines ends with an ellipsis. None for an empty text.

    >>> wrapped("one two three", 9, "- ", "  ")
    ['- one two', '  three']
    """
    later = " " * width(first) if later is None else later
    lines: list[str] = []
    line, indent = "", first
    words = _words(text)[::-1]
    while words:
        word = words.pop()
        room = max(columns - width(indent), 1)
        longer = f"{line} {word}" if line else word
        if width(longer) <= room:
            line = longer
            continue
        if not line:
            # A word longer than a line is divided; `cut` ends with an ellipsis, which is not part of the word.
            line = cut(word, room + 1)[:-1] or word[0]
            words.append(word[len(line) :])
        else:
            words.append(word)
        lines.append(indent + line)
        line, indent = "", later
    if line:
        lines.append(indent + line)
    if len(lines) > lines_max:
        lines = lines[:lines_max]
        lines[-1] = cut(lines[-1] + " ……", columns) if width(lines[-1]) + 2 > columns else lines[-1] + " …"
    return lines


def _words(text: str) -> list[str]:
    """Words at ordinary blanks; a number keeps its unit."""
    words: list[str] = []
    for word in text.split(" "):
        if words and word.rstrip(".,;:)") in UNITS and words[-1][-1:].isdigit():
            words[-1] += NO_BREAK + word
        elif word:
            words.append(word)
    return words


def fitting(parts: Iterable[str], columns: int) -> str:
    """The parts that fit on one line, without those that do not and the empty ones; the first is cut if it must be.

    >>> fitting(["one", "", "twelve", "3"], 9)
    'one · 3'
    """
    line = ""
    for part in parts:
        longer = f"{line} · {part}" if line and part else line or part
        if not line:
            line = cut(part, columns)
        elif width(longer) <= columns:
            line = longer
    return line


class Column:
    """A column of a table: its title, and how it gives way where the terminal is narrow.

    `rank` 0 always stays; of the others the highest goes first. A column with `cut_to` may be cut down to that width.
    """

    def __init__(self, title: str, *, to_right: bool = False, rank: int = 0, cut_to: int = 0) -> None:
        self.title, self.to_right, self.rank, self.cut_to = title, to_right, rank, cut_to


def table(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[str | tuple[str, str]]]) -> list[str]:
    """A heading and rows, none wider than the terminal."""
    wide = [max([width(column.title), *(width(_plain(row[at])) for row in rows)]) for at, column in enumerate(columns)]
    shown = _fitted(columns, wide, terminal.columns)
    head = GAP.join(pad(columns[at].title, wide[at], to_right=columns[at].to_right) for at in shown)
    lines = [terminal.paint(head.rstrip(), "bold")]
    for row in rows:
        cells = []
        for at in shown:
            cell = row[at]
            padded = pad(_plain(cell), wide[at], to_right=columns[at].to_right)
            if at == shown[-1]:
                padded = padded.rstrip(" ")
            cells.append(terminal.paint(padded, cell[1]) if isinstance(cell, tuple) and cell[1] else padded)
        lines.append(GAP.join(cells).rstrip(" "))
    return lines


def _fitted(columns: Sequence[Column], wide: list[int], room: int) -> list[int]:
    """Which columns are shown; `wide` becomes their widths."""
    least = [min(wide[at], column.cut_to or wide[at]) for at, column in enumerate(columns)]
    shown = list(range(len(columns)))
    while len(shown) > 1 and sum(least[at] for at in shown) + len(GAP) * (len(shown) - 1) > room:
        weakest = max(shown, key=lambda at: columns[at].rank)
        if not columns[weakest].rank:
            break
        shown.remove(weakest)
    left = room - len(GAP) * (len(shown) - 1) - sum(least[at] for at in shown)
    if left < 0:
        # Nothing may be left out any more: the widest column gives way.
        widest = max(shown, key=lambda at: least[at])
        wide[widest] = least[widest] = max(least[widest] + left, 1)
    for at in shown:
        more = min(wide[at] - least[at], max(left, 0))
        wide[at] = least[at] + more
        left -= more
    return shown


def _plain(cell: str | tuple[str, str]) -> str:
    return cell if isinstance(cell, str) else cell[0]


def use_bar(use_percent: float | None, columns: int = 10) -> tuple[str, str]:
    """A bar of GPU use, and the colour of the class that such a use would have; neither where it is not measured."""
    if use_percent is None:
        return bar(None, columns), ""
    return bar(use_percent / 100, columns), COLOURS[class_of(use_percent)]
