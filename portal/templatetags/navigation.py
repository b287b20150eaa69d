"""The main navigation: its pages, and which of them is the current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template

register = template.Library()


@dataclass(frozen=True)
class Place:
    """One page of the navigation; `holds` are the names of the addresses that belong under it."""

    label: str
    url_name: str
    holds: frozenset[str]


PLACES = (
    Place("Dashboard", "dashboard", frozenset({"dashboard"})),
    Place("Jobs", "my-jobs", frozenset({"my-jobs", "job", "compare", "work"})),
    Place("History", "history", frozenset({"history"})),
    Place("Projects", "projects", frozenset({"projects", "project"})),
    Place("Learn", "learn", frozenset({"learn", "lesson"})),
    Place("Settings", "settings", frozenset({"settings", "appearance", "api-tokens"})),
    Place("About", "about", frozenset({"about"})),
)
LESSON_PAGES = frozenset({"lessons", "start-lesson", "edit-lesson", "lesson-history", "lesson-links"})
STAFF_PLACES = (
    Place(
        "Support", "support", LESSON_PAGES | {"support", "shared-jobs", "feedback-sums", "outbox", "directory-state"}
    ),
)
ADMINISTRATOR_PLACES = (Place("System", "system", frozenset({"system"})),)


@register.inclusion_tag("portal/_navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The links, with the current one marked."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    user = getattr(request, "user", None)
    places: tuple[Place, ...] = PLACES
    if getattr(user, "is_staff", False):
        places += STAFF_PLACES
    if getattr(user, "is_superuser", False):
        places += ADMINISTRATOR_PLACES
    return {"places": places, "here": match.url_name if match else ""}
