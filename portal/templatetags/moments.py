"""Instants in templates: in the reader's time zone, which is shown beside them."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html

register = template.Library()


@register.filter
def moment(at: datetime) -> str:
    """An instant to the minute, with the short name of the zone."""
    local = timezone.localtime(at)
    return _time(local, '{} <span class="zone">{}</span>', f"{local:%Y-%m-%d %H:%M}", local.tzname())


@register.filter
def day(at: datetime) -> str:
    """The day of an instant for the reader."""
    return format_html('<time datetime="{0}">{0}</time>', f"{timezone.localtime(at):%Y-%m-%d}")


@register.filter
def day_and_time(at: datetime) -> str:
    """An instant to the minute in a narrow column, whose page names the zone; the time can be left out by its style."""
    local = timezone.localtime(at)
    return _time(local, '{}<span class="clock"> {}</span>', f"{local:%Y-%m-%d}", f"{local:%H:%M}")


@register.filter
def clock(at: datetime) -> str:
    """An instant of a running job to the minute: the time alone where it is today for the reader."""
    local = timezone.localtime(at)
    is_today = local.date() == timezone.localdate()
    return _time(local, "{}", f"{local:%H:%M}" if is_today else f"{local:%Y-%m-%d %H:%M}")


def _time(local: datetime, shown: str, *parts: str | None) -> str:
    """The element of an instant, whose attribute has its seconds; `shown` is our own HTML around the parts."""
    return format_html(f'<time datetime="{{}}">{shown}</time>', local.isoformat(timespec="seconds"), *parts)
