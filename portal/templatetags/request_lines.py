"""The lines of a suggested request in templates."""

from __future__ import annotations

from django import template

from reports.request_diff import copied, is_whole

register = template.Library()

register.filter("copied", copied)
register.filter("is_whole", is_whole)
