"""Reading a file of another site, line by line: good rows are counted, and each bad one is rejected by itself.

Whatever the file has, only anonymised rows come out. Those of an institutional file are taken as they are, without
combinations that fewer than five rows share; it states how many there are, and one that has not all of them is refused.
Learning documents name people: they are anonymised here like a month of this site, under a secret that is made for the
file, and the names end with this call.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO, TypeVar

import msgspec

from analysis.anonymous.bands import ProgramOf, Values
from analysis.anonymous.grouping import Atoms, add, anonymised_atoms
from analysis.anonymous.lines import Head, Line
from analysis.anonymous.month import checked
from analysis.elsewhere.documents import LearningDocument, month_of, run_of
from analysis.elsewhere.long_lines import BOM, HashedLines
from analysis.feedback import GROUP_USERS_MIN

INSTITUTIONAL, LEARNING = "institutional", "learning"

REJECTED_SHOWN_MAX = 20
ROWS_MAX = 2_000_000
"""More rows of one month, or more people in all, than any site has; their keys are in memory."""

DOCUMENT_BYTES_MAX = 4 * 1024 * 1024
"""A file up to this size may be one JSON document, or a list of them, instead of lines: ASBA indents its documents."""

T = TypeVar("T")
ENUM_VALUE = "Invalid enum value"
GZIP = b"\x1f\x8b"
TOO_LONG, NO_OBJECT = "the line is too long", "not valid JSON of an object"


@dataclass(frozen=True)
class Rejected:
    """One row that is left out: where, and which member is wrong; its own words are not in the message."""

    line: int
    message: str


class FileFormatError(Exception):
    """A file that is none of what can be read, or not whole; its text is for people, `rejected` names rows."""

    def __init__(self, message: str, rejected: Sequence[Rejected] = ()) -> None:
        super().__init__(message)
        self.rejected = rejected


@dataclass
class Imported:
    """What a file has: groups of equal rows with their number, by month, and what was left out.

    `rows` are all that were read, those that were rejected or withheld as well.
    """

    form: str
    months: dict[str, dict[Values, int]] = field(default_factory=dict)
    rows: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    rejected_count: int = 0
    withheld: int = 0
    digest: str = ""

    @property
    def anonymous_rows(self) -> int:
        return sum(sum(groups.values()) for groups in self.months.values())

    def reject(self, line: int, message: str) -> None:
        self.rejected_count += 1
        if len(self.rejected) < REJECTED_SHOWN_MAX:
            self.rejected.append(Rejected(line, message))


def read(file: BinaryIO, secret: bytes, program_of: ProgramOf) -> Imported:
    """Everything a file has. The secret must be made for this call; names of jobs become those of programs.

    Raises FileFormatError.
    """
    hashed = HashedLines(file)
    lines = iter(hashed)
    first = next(lines, None)
    if hashed.start == GZIP:
        raise FileFormatError("The file is compressed with gzip: unpack it first.")
    if first is None:
        raise FileFormatError("The file is empty.")
    head = _head(first[1])
    imported = _institutional(head, lines) if head else _learning(chain([first], lines), secret, program_of)
    if head is None and _is_unusable(imported):
        whole = _whole(file)
        imported = _learning(whole, secret, program_of) if whole else imported
    if _is_unusable(imported):
        worst = imported.rejected[0]
        raise FileFormatError(f"No row can be used; line {worst.line}: {worst.message}")
    if head:
        _check_whole(head, imported)
    elif hashed.is_cut_off:
        raise FileFormatError("The end of the list is missing: the file was cut off. Nothing was stored.")
    imported.digest = hashed.digest
    return imported


def _is_unusable(imported: Imported) -> bool:
    return 0 < imported.rejected_count == imported.rows


def _check_whole(head: Head, imported: Imported) -> None:
    """FileFormatError for a file that does not have the rows that it states, each of them a good one."""
    if imported.rows != head.rows:
        raise FileFormatError(
            f"The first line states {head.rows} rows, and {imported.rows} were found: the file is not whole."
            " Nothing was stored.",
            imported.rejected,
        )
    if imported.rejected_count:
        raise FileFormatError(
            f"{imported.rejected_count} of {head.rows} rows cannot be used: the file is damaged. Nothing was stored.",
            imported.rejected,
        )


def _whole(file: BinaryIO) -> list[tuple[int, bytes | None]]:
    """The documents of a file that is one of them, or a list, over several lines; none where it is neither."""
    file.seek(0)
    content = file.read(DOCUMENT_BYTES_MAX + 1).removeprefix(BOM)
    for kind in (list[msgspec.Raw], dict[str, msgspec.Raw]):
        try:
            found = msgspec.json.decode(content, type=kind)
        except (ValueError, RecursionError):
            continue
        documents = found if isinstance(found, list) else [content]
        return [(number, bytes(document)) for number, document in enumerate(documents, 1)]
    return []


def _head(line: bytes | None) -> Head | None:
    """The description of an institutional file; None for another file. Raises FileFormatError for a wrong one."""
    schema = _schema_of(line)
    if not schema.startswith("kaiku-institutional/"):
        return None
    try:
        return msgspec.json.decode(line or b"", type=Head)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"Line 1: {error}") from error


class _Named(msgspec.Struct):
    schema: str = ""


def _schema_of(line: bytes | None) -> str:
    try:
        return msgspec.json.decode(line or b"", type=_Named).schema
    except (ValueError, RecursionError):
        return ""


def _institutional(head: Head, lines: Iterable[tuple[int, bytes | None]]) -> Imported:
    imported = Imported(INSTITUTIONAL)
    keys: set[str] = set()
    groups: Counter[Values] = Counter()
    decoder = msgspec.json.Decoder(Line)
    for number, text in lines:
        row = _decoded(decoder, number, text, imported)
        if row is None:
            continue
        if row.key in keys:
            imported.reject(number, "the key is that of an earlier row - at `$.key`")
            continue
        if len(keys) >= ROWS_MAX:
            raise FileFormatError(f"The file has more than {ROWS_MAX:,} rows.")
        keys.add(row.key)
        groups[row.values] += 1
    kept = {values: count for values, count in groups.items() if count >= GROUP_USERS_MIN}
    imported.rows = len(keys) + imported.rejected_count
    imported.withheld = len(keys) - sum(kept.values())
    imported.months[head.month] = kept
    return imported


def _learning(lines: Iterable[tuple[int, bytes | None]], secret: bytes, program_of: ProgramOf) -> Imported:
    imported = Imported(LEARNING)
    numbers: dict[tuple[str, str], int] = {}
    months: dict[str, Atoms] = {}
    runs = 0
    decoder = msgspec.json.Decoder(LearningDocument)
    for number, text in lines:
        document = _decoded(decoder, number, text, imported)
        month = month_of(document) if document else None
        if document is None or month is None:
            if document:
                imported.reject(number, "no time of a run - at `$.job_metadata.actual_execution.end_time`")
            continue
        who = document.job_metadata
        person, project = (
            numbers.setdefault(name, len(numbers)) for name in (("user", who.user_id), ("project", who.project_id))
        )
        if len(numbers) > ROWS_MAX:
            raise FileFormatError(f"The file has more than {ROWS_MAX:,} people and projects.")
        add(months.setdefault(month, {}), run_of(document, person, project, program_of))
        runs += 1
    imported.months = {month: _groups(atoms, secret, imported) for month, atoms in sorted(months.items())}
    imported.rows = runs + imported.rejected_count
    return imported


def _groups(atoms: Atoms, secret: bytes, imported: Imported) -> dict[Values, int]:
    figures = checked(anonymised_atoms(atoms, secret))
    imported.withheld += sum(each.people_at_most for each in figures.withheld)
    return {tuple(group.values): len(group.keys) for group in figures.groups}


def _decoded(decoder: msgspec.json.Decoder[T], number: int, text: bytes | None, imported: Imported) -> T | None:
    """A row, or None once it is rejected."""
    if text is None:
        imported.reject(number, TOO_LONG)
        return None
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        imported.reject(number, _without_value(str(error)))
    except (ValueError, RecursionError):
        imported.reject(number, NO_OBJECT)
    return None


def _without_value(message: str) -> str:
    """The decoder's message without the value, which is somebody else's text; paths have members of ours alone.

    >>> _without_value("Invalid enum value 'alice' - at `$.gpus`")
    'Invalid enum value - at `$.gpus`'
    """
    said, at, path = message.rpartition(" - at ")
    return f"{ENUM_VALUE}{at}{path}" if said.startswith(ENUM_VALUE) else message
