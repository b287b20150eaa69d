"""Where a line of a report may not end: within an option, a tool's name, a variable, a path, or "GPU-hours"."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(r"[\d.,]+\sGPU-hours\S*|\S+")
WHOLE = re.compile(r"^-\w|--\w|[\w$]=|\w_\w|/\w|\b(?:rocm|nvidia|amd|rocprof|nsys)-|-g\b|\d-\d|GPU-hours")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, and whether each is to stay whole on a line.

    >>> list(pieces("Use --gpus-per-node=8, then wait."))
    [('Use ', False), ('--gpus-per-node=8,', True), (' then wait.', False)]
    """
    end = 0
    for token in TOKEN.finditer(text):
        if WHOLE.search(token[0]):
            yield text[end : token.start()], False
            yield token[0], True
            end = token.end()
    yield text[end:], False
