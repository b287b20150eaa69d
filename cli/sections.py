"""Paragraphs beside their labels, and tables of which nothing is left out, in the width of a terminal."""

from __future__ import annotations

from cli.layout import GAP, NOT_KNOWN, wrapped
from cli.terminal import pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LABEL_COLUMNS = 14
NARROW_COLUMNS = 60
"""Below this a label has a line of its own."""
TEXT_COLUMNS_MAX = 110
"""Longer lines of prose are hard to read, however wide the terminal is."""


def labelled(label: str, text: str, columns: int) -> list[str]:
    r"""A paragraph beside its label; below it on a narrow terminal, or if the label is long.

    >>> labelled("Cost", "96 GPU-hours", 80), labelled("Cost", "96 GPU-hours", 40)
    (['Cost          96\xa0GPU-hours'], ['Cost', '  96\xa0GPU-hours'])
    """
    if columns < NARROW_COLUMNS or width(label) >= LABEL_COLUMNS:
        return [*([label] if label else []), *indented(text, columns)]
    return wrapped(text, min(columns, TEXT_COLUMNS_MAX), pad(label, LABEL_COLUMNS - 1) + " ")


def indented(text: str, columns: int) -> list[str]:
    """A paragraph at the place of the labelled ones."""
    return wrapped(text, min(columns, TEXT_COLUMNS_MAX), " " * (2 if columns < NARROW_COLUMNS else LABEL_COLUMNS))


def whole_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: int, *, to_right: Iterable[int] = ()
) -> list[str]:
    """Rows below their heads; where they do not fit, each row as a paragraph of labelled values. Nothing is cut.

    >>> whole_table(["partition", "cost"], [["small-g", "96"], ["dev-g", "8.5"]], 80, to_right=[1])
    ['partition  cost', 'small-g      96', 'dev-g       8.5']
    >>> whole_table(["partition", "cost"], [["small-g", "96"]], 12)
    ['small-g', '  cost 96']
    """
    right = frozenset(to_right)
    widths = [max(width(row[place]) for row in (head, *rows)) for place in range(len(head))]
    if sum(widths) + len(GAP) * (len(head) - 1) > columns:
        return [line for row in rows for line in _stacked(head, row, columns)]
    return [
        GAP.join(
            pad(cell, size, to_right=place in right) for place, (cell, size) in enumerate(zip(row, widths))
        ).rstrip()
        for row in (head, *rows)
    ]


def _stacked(head: Sequence[str], row: Sequence[str], columns: int) -> list[str]:
    cells = [f"{label} {cell}" for label, cell in zip(head[1:], row[1:]) if cell not in ("", NOT_KNOWN)]
    return [*wrapped(row[0], columns), *wrapped(", ".join(cells), columns, "  ")]
