"""Values of metrics in templates."""

from __future__ import annotations

from django import template

from portal.charts.logged_runs import metric_number, shown

register = template.Library()
register.filter("metric_number", lambda value: metric_number(value if isinstance(value, int | float) else None))
register.filter("metric_name", shown)
