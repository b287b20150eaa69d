"""`manage.py escalate`: raise and clear the flags that are due; workers do this by themselves."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.escalation.selectors import raised_flags
from analysis.escalation.services import escalate
from wire.numbers import counted, hours


class Command(BaseCommand):
    help = "Raise the flags of people, projects and works with many unused GPU-hours, and clear what no longer applies."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--list", action="store_true", help="then list the raised flags that staff see")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        self.stdout.write(f"{counted(escalate(now), 'flag')} raised or cleared")
        for flag in raised_flags(now) if options["list"] else ():
            about = " ".join(str(part) for part in (flag.user, flag.project, flag.work_key) if part)
            unused = hours(flag.at_last.counted.unused_gpu_hours)
            self.stdout.write(f"{flag.raised_at:%Y-%m-%d}  {flag.kind:<7}  {unused:>10} GPU-hours unused  {about}")
