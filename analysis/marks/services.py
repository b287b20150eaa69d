"""Moving marks."""

from datetime import datetime

from analysis.marks.models import SweepMark


def mark_swept(name: str, now: datetime) -> None:
    """A step that began now found nothing more to do."""
    SweepMark.objects.update_or_create(name=name, defaults={"at": now})


def mark_position(name: str, position: int) -> None:
    """A step checked every row from this one on."""
    SweepMark.objects.update_or_create(name=name, defaults={"position": position})
