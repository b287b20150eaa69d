"""`manage.py close_months`: store the figures of the site, its answers, the policy export and the rows for other sites.

Workers do this themselves.
"""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.months.selectors import months_not_closed
from analysis.months.services import close_months
from analysis.site.selectors import CLOSED_AFTER, SETTLED_AFTER, is_being_judged
from analysis.site.services import site_months
from analysis.waiting.selectors import checks_before
from analysis.waiting.services import check_all_waits
from portal.months import MONTHS, SITE
from wire.numbers import counted

LATER = "Their months are closed after that, or at most 3 days later; /admin/ lists what failed."


ALL_CLOSED = f"Every month with jobs that ended more than {CLOSED_AFTER.days} days ago is closed."


class Command(BaseCommand):
    help = (
        "Store the monthly figures of each kind once a month ended long enough ago (days after its end):"
        f" {', '.join(f'{kind.title} ({kind.after.days})' for kind in MONTHS)}. They never change."
        " With --at-once also months with jobs that were judged within the last day: after an import of all of them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--at-once", action="store_true", help="do not wait until a day after the last judgement")

    def handle(self, *args: Any, **options: Any) -> None:
        left = check_all_waits()
        if left:
            self.stderr.write(f"Idle GPUs of {counted(left, 'job')} are not yet checked for who waited. {LATER}")
        settled_after = timedelta(0) if options["at_once"] else SETTLED_AFTER
        closed = close_months(site_months(settled_after), timezone.now())
        self.stdout.write(f"{counted(closed, 'month')} closed")
        self._say_open(closed, settled_after)
        for kind in MONTHS[1:]:
            closed = close_months(kind, timezone.now())
            self.stdout.write(f"{kind.figures_title}: {counted(closed, 'month')} closed")

    def _say_open(self, closed: int, settled_after: timedelta) -> None:
        """Why months are left, or that none is, where none was closed."""
        now = timezone.now()
        left = months_not_closed(SITE, now)
        for month in left:
            if is_being_judged(month, now - settled_after):
                why = "jobs of it were judged within the last day: --at-once closes it"
            elif checks_before(month, now).exists():
                why = "idle GPUs of it are not yet checked for who waited"
            else:
                why = "closing it failed, or a worker is doing it: /admin/ lists what failed"
            self.stderr.write(f"{month:%Y-%m} is not closed: {why}.")
        if not closed and not left:
            self.stderr.write(ALL_CLOSED)
