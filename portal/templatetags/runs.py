"""Values of metrics in templates."""

from __future__ import annotations

from django import template

from portal.charts.logged_runs import metric_number, rate_number, shown

register = template.Library()
register.filter("metric_name", shown)


@register.filter(name="metric_number")
def shown_number(value: object) -> str:
    """A value of a metric; a dash for what is not there."""
    return metric_number(value if isinstance(value, int | float) else None)


@register.filter(name="progress_rate")
def shown_rate(value: object) -> str:
    """A rate or a cost; a dash for what is not there."""
    return rate_number(value if isinstance(value, int | float) else None)
