"""Sentences with commands in them, in the templates of reports and mail."""

import re
from collections.abc import Iterator

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

TOKEN = re.compile(r"[\d.,]+\sGPU-hours\S*|\S+")
WHOLE = re.compile(r"^-\w|--\w|[\w$]=|\w_\w|/\w|\b(?:rocm|nvidia|amd|rocprof|nsys)-|-g\b|\d-\d|GPU-hours")
"""Where a line may not end: within an option, a tool's name, a variable, a path, or "GPU-hours"."""


@register.filter
def whole_options(text: str) -> SafeString:
    """The text, escaped; each option, variable and path in an element that a style keeps on one line."""
    return format_html_join(
        "",
        "{}",
        (
            (format_html('<span class="whole">{}</span>', piece) if is_whole else piece,)
            for piece, is_whole in pieces(text)
        ),
    )


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
