"""The help of a command, as its docstring, in the width of a terminal."""

from __future__ import annotations

import re

from cli.layout import wrapped
from cli.sections import TEXT_COLUMNS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIBED = re.compile(r"  (\S.*?\S)  +(\S.*)")
"""An option or a command, and after at least two blanks what it does."""
DEEP = 8
"""From this indent on a line continues the one before."""


def help_lines(written: str, columns: int) -> list[str]:
    r"""Paragraphs and descriptions wrapped anew.

    >>> help_lines("kaiku x\n\nOne two\nthree.\n\n  --a B   does\n          this now\n", 20)
    ['kaiku x', '', 'One two three.', '', '  --a B   does this', '          now']
    """
    room = min(columns, TEXT_COLUMNS_MAX)
    return [line for part in _parts(written) for line in _shown(part, room)]


def _parts(written: str) -> Iterator[str]:
    """Lines that belong together, as one."""
    part = ""
    for line in written.strip().splitlines():
        indent = len(line) - len(line.lstrip())
        is_more = bool(part) and bool(line) and (indent >= DEEP or (indent == 0 and not part.startswith(" ")))
        if is_more:
            part += f" {line.strip()}"
            continue
        if part:
            yield part
        part = line
        if not line:
            yield ""
    yield part


def _shown(part: str, columns: int) -> list[str]:
    if not part:
        return [""]
    found = DESCRIBED.fullmatch(part)
    if not found:
        indent = " " * (len(part) - len(part.lstrip()))
        return wrapped(part.strip(), columns, indent)
    head = part[: found.start(2)]
    if len(head) > columns // 2:
        return [head.rstrip(), *wrapped(found[2], columns, "      ")]
    return wrapped(found[2], columns, head, " " * len(head))
