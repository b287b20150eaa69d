"""The main menu, with the current entry marked: for everybody, for staff, for policy readers, for administrators."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings

from jobs.models import User
from portal.access import reads_the_site

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


@dataclass(frozen=True)
class Place:
    """One page of the navigation; `holds` are the names of the addresses that belong under it."""

    label: str
    url_name: str
    holds: frozenset[str]


QUEUE_PLACE = Place("Queue", "queue", frozenset({"queue"}))
"""Where the portal reads a queue; beside the projects, whose hours its jobs are going to use."""

PLACES = (
    Place("Dashboard", "dashboard", frozenset({"dashboard", "sample-report", "flags"})),
    Place("Jobs", "my-jobs", frozenset({"my-jobs", "running", "job", "compare", "work"})),
    Place("Experiments", "experiments", frozenset({"experiments", "experiment", "compare-runs", "run"})),
    Place("History", "history", frozenset({"history"})),
    QUEUE_PLACE,
    Place("Projects", "projects", frozenset({"projects", "project"})),
    Place("Learn", "learn", frozenset({"learn", "lesson"})),
    Place("Settings", "settings", frozenset({"settings", "appearance", "api-tokens", "slurm-comments", "device"})),
    Place("About", "about", frozenset({"about"})),
)
LESSON_PAGES = frozenset({"lessons", "start-lesson", "edit-lesson", "lesson-history", "lesson-links"})
STAFF_PLACES = (
    Place(
        "Support",
        "support",
        LESSON_PAGES
        | {"support", "shared-jobs", "feedback-sums", "advice-quality", "outbox", "directory-state"}
        | {"support-queue", "support-case", "help-letter"},
    ),
    Place("Site", "site", frozenset({"site"})),
)
POLICY_PLACE = Place("Policy", "policy", frozenset({"policy"}))
POLICY_PLACES = (STAFF_PLACES[-1], POLICY_PLACE)
"""What people see who read sums of the site and are not staff."""

ADMINISTRATOR_PLACES = (
    POLICY_PLACE,
    Place("System", "system", frozenset({"system"})),
)
