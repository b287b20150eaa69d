"""The main menu, with the current entry marked."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings

from jobs.models import User
from portal.access import reads_the_site
from portal.menu import ADMINISTRATOR_PLACES, PLACES, POLICY_PLACES, QUEUE_PLACE, STAFF_PLACES, Place

register = template.Library()


@register.inclusion_tag("portal/_navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The links, with the current one marked."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    user = getattr(request, "user", None)
    places: tuple[Place, ...] = tuple(place for place in PLACES if place is not QUEUE_PLACE or settings.QUEUE_CLUSTERS)
    if getattr(user, "is_staff", False):
        places += STAFF_PLACES
    elif isinstance(user, User) and reads_the_site(user):
        places += POLICY_PLACES
    if getattr(user, "is_superuser", False):
        places += ADMINISTRATOR_PLACES
    return {"places": places, "here": match.url_name if match else ""}
