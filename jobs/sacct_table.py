"""The text of `sacct -P` as rows of named cells, whatever characters job names contain.

sacct escapes nothing: a job name or comment may hold the delimiter and line ends, so a row may span lines and
its cells may be shifted. Rows are found by their job id, and shifted cells by the form of the typed columns.
With `|` a name can still be made to look like a whole row; a delimiter that nobody can guess, as
`jobs.slurm_client` draws for each call, prevents that.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

UNIT_SEPARATOR = "\x1f"
# Cells that a row may have beyond its columns; a text with more delimiters rejects its row.
EXTRA_CELLS_MAX = 256

# Columns whose text the user chooses: these alone can hold a delimiter or a line end.
FREE_TEXT = frozenset(
    "JobName Comment AdminComment SystemComment SubmitLine WorkDir WCKey Constraints Container Extra"
    " StdErr StdIn StdOut".split()
)
ID_COLUMNS = ("JobID", "JobIDRaw")

_JOB_ID = r"[0-9]{1,18}(?:_(?:[0-9]{1,18}|\[[0-9,%:.-]*\]))?(?:\+[0-9]{1,9})?(?:\.[A-Za-z0-9_+-]+)?"
_NAME = r"[A-Za-z0-9._@+-]*"
_COUNT = r"[0-9]*"
_TIME = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}\S*|Unknown|None|NONE|)"
_CLOCK = r"(?:(?:[0-9]+-)?[0-9]+:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?|)"
_NO_LIMIT = "UNLIMITED|Partition_Limit|INVALID"
_TRES = r"(?:[A-Za-z0-9_/:.]+=[A-Za-z0-9_/:.+-]*(?:,|$))*"
# The form of each column that is read, loose enough to leave the precise checks to later steps.
FORMS = {
    column: re.compile(form)
    for columns, form in {
        "JobID JobIDRaw": _JOB_ID,
        "User Account": _NAME,
        "Partition QOS": r"[A-Za-z0-9_.,@+-]*",
        "State": r"[A-Z_]+\+?(?: by [0-9]+)?",
        "ExitCode DerivedExitCode": r"(?:[0-9]+:[0-9]+)?",
        "Submit Eligible Start End": _TIME,
        "ElapsedRaw CPUTimeRAW NNodes NCPUS AllocCPUS ReqCPUS NTasks Restarts": _COUNT,
        "TimelimitRaw": f"{_COUNT}|{_NO_LIMIT}",
        "Timelimit": f"{_CLOCK}|{_NO_LIMIT}",
        "Elapsed": _CLOCK,
        "ReqTRES AllocTRES": _TRES,
        "ReqMem": r"(?:[0-9.]+[KMGTP]?[nc]?)?",
        "NodeList": r"(?:[A-Za-z0-9.,\[\]-]*|None assigned|\(null\))",
    }.items()
    for column in columns.split()
}


class SacctFormatError(ValueError):
    """Text that is not the parsable output of sacct, or lacks columns that are needed."""


@dataclass(frozen=True)
class Row:
    """One line of accounting, `line` counted from 1; `cells` by column name."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class BrokenRow:
    """A row that could not be matched to the header, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class Layout:
    """What the header defines: the columns, and how many leading cells show that a row begins here."""

    columns: tuple[str, ...]
    delimiter: str
    id_positions: tuple[int, ...]

    @property
    def is_last_free(self) -> bool:
        return self.columns[-1] in FREE_TEXT

    def begins_row(self, line: str) -> bool:
        """Whether the job ids are where the header has them; never true where free text may come before them."""
        if not self.id_positions:
            return False
        leading = line.split(self.delimiter, self.id_positions[-1] + 1)
        return len(leading) > self.id_positions[-1] and all(
            FORMS[self.columns[position]].fullmatch(leading[position]) for position in self.id_positions
        )


def table(text: str, delimiter: str | None = None) -> tuple[Layout, Iterator[Row | BrokenRow]]:
    """The layout, and the rows in order; steps are rows too, a repeated header is not.

    `delimiter` None takes the unit separator or `|`, whichever the header holds. Raises SacctFormatError where
    there is no header. The cost is linear in the text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise SacctFormatError("the text is empty: there is no header line")
    header = lines[first]
    layout = _layout(header, delimiter or (UNIT_SEPARATOR if UNIT_SEPARATOR in header else "|"))
    numbered = ((number, line) for number, line in enumerate(lines[first + 1 :], first + 2) if line != header)
    return layout, (_row(number, joined, layout) for number, joined in _joined(numbered, layout))


def _layout(header: str, delimiter: str) -> Layout:
    columns = tuple(name.strip() for name in header.split(delimiter))
    free = next((position for position, name in enumerate(columns) if name in FREE_TEXT), len(columns))
    ids = tuple(position for position, name in enumerate(columns[:free]) if name in ID_COLUMNS)
    return Layout(columns, delimiter, ids)


def _joined(lines: Iterator[tuple[int, str]], layout: Layout) -> Iterator[tuple[int, str]]:
    """Each row with all lines of its text, and the number of its first line."""
    began, parts, cells = 0, list[str](), 0
    for number, line in lines:
        more = line.count(layout.delimiter)
        if parts and not _is_new_row(line, more, cells, layout):
            parts.append(line)
            cells += more
            continue
        if parts:
            yield began, "\n".join(parts)
        began, parts, cells = number, [line] if line.strip() else [], more + 1
    if parts:
        yield began, "\n".join(parts)


def _is_new_row(line: str, delimiters: int, cells_before: int, layout: Layout) -> bool:
    """Whether a line begins a row, where the row before it has `cells_before` cells so far.

    A line without a job id where one must be continues the text before it, unless that text is complete and the
    line has the cells of a whole row: then it is a separate row, reported as broken.
    """
    if layout.begins_row(line):
        return True
    width = len(layout.columns)
    if not line.strip() or cells_before < width:
        return False
    if cells_before == width and not (layout.is_last_free and layout.id_positions):
        return delimiters > 0 or not layout.is_last_free
    return delimiters >= width - 1


def _row(line: int, text: str, layout: Layout) -> Row | BrokenRow:
    cells = text.rstrip("\n").split(layout.delimiter)
    extra = len(cells) - len(layout.columns)
    if extra < 0:
        return BrokenRow(line, text, f"has {len(cells)} of {len(layout.columns)} columns")
    if extra > EXTRA_CELLS_MAX:
        return BrokenRow(line, text, f"has {extra} cells more than columns")
    if extra:
        starts = _starts(cells, layout.columns)
        if starts is None:
            return BrokenRow(line, text, "has shifted columns that do not match the header in exactly one way")
        cells = [layout.delimiter.join(cells[start:end]) for start, end in itertools.pairwise(starts)]
    return Row(line, dict(zip(layout.columns, cells, strict=True)))


def _starts(cells: Sequence[str], columns: Sequence[str]) -> Sequence[int] | None:
    """Where each column starts in a row with too many cells, and the end; None when that is not certain.

    Free text takes one cell or more, every other column exactly one of its form. Sets of positions are the bits of
    whole numbers; a column that is read must have a single possible start, so that no name can choose another.
    """
    fits = [_fitting(position, columns, cells) for position in range(len(columns))]
    reached = [1]
    for fit in fits:
        reached.append(_after(reached[-1], fit, len(cells)))
    possible = [reached[-1] & 1 << len(cells)]
    for fit, positions in zip(reversed(fits), reversed(reached[:-1]), strict=True):
        possible.append(positions & _before(possible[-1], fit))
    possible.reverse()
    if not all(possible):
        return None
    if any(bits & (bits - 1) for bits, column in zip(possible, columns, strict=False) if column in FORMS):
        return None
    starts = [0]
    for bits in possible[1:]:
        later = bits >> starts[-1] + 1
        starts.append(starts[-1] + (later & -later).bit_length())
    return starts


def _fitting(position: int, columns: Sequence[str], cells: Sequence[str]) -> int | None:
    """The cells, as bits, that have the form of a column among those it may be shifted to; None for free text."""
    column = columns[position]
    if column in FREE_TEXT:
        return None
    form = FORMS.get(column)
    shifted = range(position, position + len(cells) - len(columns) + 1)
    return sum(1 << cell for cell in shifted if form is None or form.fullmatch(cells[cell]))


def _after(positions: int, fit: int | None, end: int) -> int:
    """Where the next column may start when this one starts at any of `positions`."""
    if fit is not None:
        return (positions & fit) << 1
    lowest = positions & -positions
    return (1 << end + 1) - (lowest << 1) if lowest else 0


def _before(positions: int, fit: int | None) -> int:
    """Where this column may start when the next one starts at any of `positions`."""
    if fit is not None:
        return positions >> 1 & fit
    return (1 << positions.bit_length() - 1) - 1 if positions else 0
