"""Heads and cells of tables in templates."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

NUMBERS = "#"


@register.simple_tag
def columns(*names: str) -> SafeString:
    """The head of a table with these columns; a name after "#" is that of a column of numbers.

    >>> columns("Job", "#GPUs")
    '<thead><tr><th scope="col">Job</th><th scope="col" class="number">GPUs</th></tr></thead>'
    """
    cells = ((' class="number"' if name.startswith(NUMBERS) else "", name.removeprefix(NUMBERS)) for name in names)
    classes = [(SafeString(numbers), name) for numbers, name in cells]
    return format_html("<thead><tr>{}</tr></thead>", format_html_join("", '<th scope="col"{}>{}</th>', classes))


@register.filter
def cells(values: Iterable[str]) -> SafeString:
    """Each value in a cell of its own; the next cell, or the end of the row, closes it.

    HTML lets authors omit the end tags, which would be a tenth of a page with a large table.

    >>> cells(["48", "<b>"])
    '<td>48<td>&lt;b&gt;'
    """
    return format_html_join("", "<td>{}", ((value,) for value in values))
