"""Why a message of the outbox is not handed over now."""

from __future__ import annotations

from datetime import datetime


class LetGo(Exception):
    """The row does not belong to this worker any more."""


class NotWanted(Exception):
    """This message is not to be sent; the text is the reason as the outbox keeps it."""


class NotNow(Exception):
    """This message is to be sent later."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"not before {until.isoformat()}")
        self.until = until
