"""The entries of the main menu: for everybody, for staff, for policy readers, and for administrators."""

from __future__ import annotations

from dataclasses import dataclass


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
