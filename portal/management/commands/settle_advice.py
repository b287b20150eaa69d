"""`manage.py settle_advice`: determine what became of the advice of reports; workers do this by themselves."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.outcomes.services import note_all, settle_due
from wire.numbers import counted


class Command(BaseCommand):
    help = (
        "Determine which later runs followed the advice on each work that changed since, and what that saved. With"
        " --all of every work."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="every work with judged runs")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        if options["all"]:
            note_all(now)
        done = settle_due(sys.maxsize, now)
        self.stdout.write(f"advice on {counted(done, 'work')} looked at")
