"""Numbers and names in templates, worded as in the reports."""

from __future__ import annotations

from django import template

from reports import numbers

register = template.Library()

FORMAT_NAMES = {"html": "HTML", "md": "Markdown", "txt": "Text", "pdf": "PDF", "json": "JSON"}

register.filter("percent", numbers.percent)
register.filter("duration", numbers.duration)
register.filter("hours", numbers.hours)


@register.filter
def state(name: str) -> str:
    """A Slurm job state in small letters: OUT_OF_MEMORY is "out of memory"."""
    return name.replace("_", " ").lower()


@register.filter
def format_name(name: str) -> str:
    """What people call a file format."""
    return FORMAT_NAMES[name]
