"""Sentences with commands in them, in the templates of reports and mail."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from reports.options import pieces

register = template.Library()


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
