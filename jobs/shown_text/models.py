"""The column for text that one person writes and others read."""

from collections.abc import Sequence
from typing import Any

from django.db import models

from jobs.shown_text.joiners import without_stray_marks
from wire.safe_text import printable_lines


class ShownText(models.CharField):
    """Text of one person that others read: control and invisible characters become U+FFFD."""

    without_marks = staticmethod(printable_lines)

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """A migration sees the plain column that this is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else self.without_marks(str(value))

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return None if value is None else self.without_marks(value)


class OwnText(ShownText):
    """Text that its writer alone reads: the joiners of scripts and emoji stay in it, all other marks become U+FFFD."""

    without_marks = staticmethod(without_stray_marks)
