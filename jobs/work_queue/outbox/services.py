"""Working through an outbox: claim a row, hand it over, record what came of it; each step is committed.

A worker that ends between handing over and recording leaves the row so. It is tried once more when the lease is over,
so at most that one message repeats; a second such end gives up. A worker that ends before handing over only delays the
message by the lease. What another worker holds meanwhile is changed by nobody else.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet

from jobs.tallies.kinds import Count, Counts
from jobs.tallies.services import add
from jobs.work_queue.outbox.models import Outgoing
from jobs.work_queue.outbox.rules import BACK_OFF, INTERRUPTIONS_MAX, next_attempt_at
from jobs.work_queue.outbox.selectors import held

Row = TypeVar("Row", bound=Outgoing)
State = Outgoing.State
NO_WAIT = timedelta(0)


@dataclass(frozen=True)
class Outbox(Generic[Row]):
    """The messages of one table; `counted` counts what came of them.

    What records the end of a try returns what its caller counts after the commit: nothing where another worker has it.
    """

    table: type[Row]
    counted: Count

    def claim(self, row: Row, now: datetime, **columns: Any) -> bool:
        """Claim a due message that this transaction has locked; False where it is given up instead."""
        interruptions = row.interruptions + (row.handed_at is not None)
        is_in_doubt = interruptions > INTERRUPTIONS_MAX
        # Workers ended so often while they wrote it that the message is the likely cause.
        if is_in_doubt or row.attempts > len(BACK_OFF):
            reason = "interrupted_twice" if is_in_doubt else "worker_ended"
            QuerySet(self.table).filter(pk=row.pk).update(
                state=State.FAILED, reason=reason, interruptions=interruptions
            )
            add(self.counted.of("failed"))
            return False
        columns |= {"state": State.SENDING, "claimed_at": now, "handed_at": None, "interruptions": interruptions}
        columns |= {"attempts": row.attempts + 1}
        for name, value in columns.items():
            setattr(row, name, value)
        row.save(update_fields=[*columns])
        return True

    def hand_over(self, row: Row, now: datetime) -> bool:
        """Note that the other server gets it now; False where another worker has it."""
        row.handed_at = now
        return held(row).update(handed_at=now) == 1

    def record_sent(self, row: Row, now: datetime) -> Counts:
        """It was taken."""
        return self._record(row, "sent", state=State.SENT, reason="", sent_at=now)

    def suppress(self, row: Row, reason: str) -> Counts:
        """It is not to be sent."""
        return self._record(row, "not wanted", state=State.SUPPRESSED, reason=reason)

    def give_up(self, row: Row, reason: str, **columns: Any) -> Counts:
        """It is not tried again."""
        return self._record(row, "failed", state=State.FAILED, reason=reason, **columns)

    def put_off(self, row: Row, reason: str, now: datetime, wait: timedelta = NO_WAIT, **columns: Any) -> Counts:
        """Try it again after its next pause, and after `wait`; give it up where this was the last try."""
        again_at = next_attempt_at(row.attempts, now)
        if again_at is None:
            return self.give_up(row, reason, **columns)
        columns |= {"due_at": max(again_at, now + wait), "handed_at": None}
        return self._record(row, "tried again", state=State.PENDING, reason=reason, **columns)

    def _record(self, row: Row, outcome: str, **columns: Any) -> Counts:
        """Change the row while it is held; what is to be counted after the commit."""
        return self.counted.of(outcome, times=held(row).update(**columns))
