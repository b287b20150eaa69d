"""`manage.py roll_up`: bring the daily sums up to date; workers do this by themselves."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.rollups.services import note_all, roll_up_due
from wire.numbers import counted


class Command(BaseCommand):
    help = (
        "Add up the runs of every day that changed since it was added up last. With --all every day: after a change of"
        " TIME_ZONE."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="every day with judged runs")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["all"]:
            note_all(timezone.now())
        done = roll_up_due(sys.maxsize, timezone.now())
        self.stdout.write(f"{counted(done, 'day')} of projects added up")
