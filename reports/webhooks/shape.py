"""What a receiver of webhooks takes, by name; its bodies are made in `shapes.py`."""

from enum import StrEnum


class Shape(StrEnum):
    """What a receiver takes."""

    GENERIC = "generic"
    SLACK = "slack"
    MATTERMOST = "mattermost"


LABELS = {Shape.GENERIC: "JSON with a signature", Shape.SLACK: "Slack", Shape.MATTERMOST: "Mattermost"}
