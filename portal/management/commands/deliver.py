"""`manage.py deliver`: send the mail that is due, or show who would get which message."""

import sys
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.models import User
from reports.mail.services.planning import PEOPLE_MAX, people_due, plan_due, plans
from reports.mail.services.sending import send_due
from reports.models import Delivery, Report
from reports.selectors import OPEN_STATES, due_deliveries
from wire.safe_text import printable

JOBS_SHOWN_MAX = 5


class Command(BaseCommand):
    help = "Send mail about new reports; --dry-run writes and sends nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--due", action="store_true", help="send every message that is due")
        parser.add_argument(
            "--dry-run", action="store_true", help="only list who would get which message, and who none and why"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self._list(timezone.now())
        elif options["due"]:
            planned, sent = plan_everything_due(), send_due(sys.maxsize)
            left = Delivery.objects.filter(state__in=OPEN_STATES).count()
            self.stdout.write(f"{planned} messages planned, {sent} sent, {left} to be retried")
        else:
            raise CommandError("use --due to send, or --dry-run to look first")

    def _list(self, now: datetime) -> None:
        made = plans(now)
        people = User.objects.in_bulk(made)
        for user_pk, wanted in sorted(made.items(), key=lambda pair: people[pair[0]].username):
            person = people[user_pk]
            to = printable(person.email) or "no address"
            for message in wanted.messages:
                self.stdout.write(f"{person.username} <{to}> {message.frequency}: {jobs_named(message.report_pks)}")
            for withheld in wanted.withheld:
                self.stdout.write(
                    f"{person.username}, no message ({withheld.reason}): {jobs_named(withheld.report_pks)}"
                )
        for row in due_deliveries(now).select_related("user"):
            to = printable(row.user.email) or "no address"
            pks = tuple(row.reports.values_list("pk", flat=True))
            self.stdout.write(
                f"{row.user.username} <{to}> {row.frequency}, attempt {row.attempts + 1}: {jobs_named(pks)}"
            )
        self.stdout.write("nothing was written or sent")


def plan_everything_due() -> int:
    """Fill the outbox for everyone, some people at a time; returns the number of new messages."""
    total = 0
    while True:
        people = len(people_due(timezone.now()))
        total += plan_due(PEOPLE_MAX)
        if people <= PEOPLE_MAX:
            return total


def jobs_named(report_pks: tuple[int, ...]) -> str:
    """The jobs of some reports; of many, only the first."""
    rows = Report.objects.filter(pk__in=report_pks).select_related("job").order_by("job__ended_at", "job__job_id")
    named = ", ".join(str(row.job) for row in rows.defer("content", "pdf")[:JOBS_SHOWN_MAX])
    more = len(report_pks) - JOBS_SHOWN_MAX
    return f"{named} and {more} more" if more > 0 else named
