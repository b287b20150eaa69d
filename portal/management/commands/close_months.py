"""`manage.py close_months`: store the figures of the site, its answers, the policy export and the rows for other sites.

Workers do this themselves.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.anonymous.services import anonymise_months
from analysis.answers.services import close_months as close_months_of_answers
from analysis.outcomes.services import close_months as close_months_of_advice
from analysis.policy.services import close_policy_months
from analysis.practices.services import close_months as close_months_of_practices
from analysis.predictions.services import close_months as close_months_of_predictions
from analysis.site.selectors import SETTLED_AFTER
from analysis.site.services import close_months
from analysis.waiting.services import check_all_waits
from portal.charts.programs import program_codes, program_titles
from reports.numbers import counted

LATER = "Their months are closed after that, or at most 3 days later; /admin/ lists what failed."


class Command(BaseCommand):
    help = (
        "Store the figures of the whole site, of answers and of the policy export for each month that ended more than 7"
        " days ago, and those of its advice, and of what many works did, 31 days after its end. They never change."
        " With --at-once also months with jobs that were judged within the last day: after an import of all of them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--at-once", action="store_true", help="do not wait until a day after the last judgement")

    def handle(self, *args: Any, **options: Any) -> None:
        left = check_all_waits()
        if left:
            self.stderr.write(f"Idle GPUs of {counted(left, 'job')} are not yet checked for who waited. {LATER}")
        closed = close_months(timezone.now(), timedelta(0) if options["at_once"] else SETTLED_AFTER)
        close_policy_months(timezone.now())
        anonymise_months(timezone.now(), program_codes)
        self.stdout.write(f"{counted(closed, 'month')} closed")
        closed = close_months_of_advice(timezone.now())
        self.stdout.write(f"{counted(closed, 'month')} of advice closed")
        closed = close_months_of_practices(timezone.now(), program_titles)
        self.stdout.write(f"{counted(closed, 'month')} of what many works did closed")
        closed = close_months_of_answers(timezone.now())
        self.stdout.write(f"{counted(closed, 'month')} of answers closed")
        closed = close_months_of_predictions(timezone.now())
        self.stdout.write(f"{counted(closed, 'month')} of predictions closed")
