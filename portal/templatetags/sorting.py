"""The heads of the columns that a list of jobs can be sorted by."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from portal.pages.jobs.rows import chosen_address
from portal.pages.jobs.sorts import SORTS

register = template.Library()


@register.inclusion_tag("portal/_sort_head.html", takes_context=True)
def sort_head(context: Context, name: str, label: str, css_class: str = "") -> dict[str, Any]:
    """A column head that links to the same jobs sorted by its column; plain if the list has no form to sort it."""
    form = context.get("form")
    if form is None:
        return {"label": label, "css_class": css_class}
    address = chosen_address(context["request"].GET)
    address["sort"] = name
    is_chosen = (form.wanted.get("sort") or "ended") == name
    direction = "descending" if SORTS[name].is_descending else "ascending"
    return {
        "label": label,
        "css_class": css_class,
        "href": f"?{address.urlencode()}",
        "direction": direction if is_chosen else "",
    }
