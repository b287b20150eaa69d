"""The portal's report as text (`report.txt`, lines of at most 78 columns), in colour and for narrower terminals."""

from __future__ import annotations

from collector.cli.layout import UNITS, wrapped
from collector.cli.report import CLASSES
from collector.cli.terminal import cut, harmless_lines, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.cli.terminal import Terminal

WRITTEN_COLUMNS, LABEL_COLUMNS = 78, 28
"""`WIDTH` and `LABEL_WIDTH` in `reports.text`."""
ADDRESSES = ("http://", "https://")
SCRIPT = ("- #SBATCH", "+ #SBATCH", "#SBATCH")


def painted(terminal: Terminal, written: str) -> list[str]:
    """The lines of a report; within a narrower terminal its paragraphs are wrapped anew."""
    lines = harmless_lines(written.rstrip("\n"))
    if terminal.columns < WRITTEN_COLUMNS:
        lines = [line for joined in _joined(lines) for line in _narrow(joined, terminal.columns)]
    return [_coloured(terminal, line, lines[number + 1 : number + 2]) for number, line in enumerate(lines)]


def _coloured(terminal: Terminal, line: str, after: list[str]) -> str:
    if after and _is_rule(after[0]):
        return terminal.paint(line, "bold")
    if _is_rule(line):
        return terminal.paint(line, "dim")
    bare = line.lstrip()
    if bare.startswith(SCRIPT[0]):
        return terminal.paint(line, "red")
    if bare.startswith(SCRIPT[1:]):
        return terminal.paint(line, "green")
    for name, colour in CLASSES.values():
        # The line of the class ends so: "…: INEFFICIENT."
        head, colon, rest = line.rpartition(": " + name.upper())
        if colon and colour and rest[:1] in (".", ","):
            return f"{head}: {terminal.paint(name.upper(), 'bold', colour)}{rest}"
    return line


def _is_rule(line: str) -> bool:
    return len(line) > 2 and line in ("-" * len(line), "=" * len(line))


def _joined(lines: list[str]) -> list[str]:
    """Lines as they were before they were wrapped: one goes on where the next word had no room any more."""
    joined: list[str] = []
    room = -1
    for line in lines:
        word = _first_word(line)
        goes_on = joined and word and 0 <= room < width(word) + 1 and not _is_rule(line) and not _is_item(line)
        if goes_on and _is_deeper(line, joined[-1]):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
        room = WRITTEN_COLUMNS - width(line) if line.strip() and not _is_rule(line) else -1
    return joined


def _first_word(line: str) -> str:
    """The first word, with the units that were kept with it."""
    words = line.split()
    first = words[0] if words else ""
    for word in words[1:3]:
        if not first[-1:].isdigit() or word.rstrip(".,;:)") not in UNITS:
            break
        first += " " + word
    return first


def _is_item(line: str) -> bool:
    """Whether a line begins something: an item of a list, a line of a script, an address."""
    return line.startswith("- ") or line.lstrip().startswith((*SCRIPT, *ADDRESSES))


def _is_deeper(line: str, before: str) -> bool:
    """Whether a line is indented as a continuation of the one before is."""
    indent = len(line) - len(line.lstrip())
    first = len(before) - len(before.lstrip())
    return indent == first or (indent > first and not before.lstrip().startswith(SCRIPT))


def _narrow(line: str, columns: int) -> list[str]:
    if width(line) <= columns:
        return [line]
    if _is_rule(line):
        return [line[:columns]]
    label, value = line[:LABEL_COLUMNS], line[LABEL_COLUMNS:]
    if label.endswith("  ") and value[:1].strip():
        return wrapped(f"{label.rstrip()}: {value}", columns, "", "  ")
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if bare.startswith(SCRIPT):
        return [cut(line, columns)]
    if bare.startswith(ADDRESSES):
        return [line]
    later = indent + ("  " if bare.startswith("- ") else "   " if bare[:1].isdigit() and bare[1:3] == ". " else "")
    return wrapped(bare, columns, indent, later)
