"""`manage.py expire`: delete data past its retention time; a worker does this automatically once a day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from portal.expiry import expire


class Command(BaseCommand):
    help = "Delete data past the retention times in the settings; the command can be stopped and restarted at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        outcomes = expire(timezone.now())
        for outcome in outcomes:
            self.stdout.write(str(outcome))
        if any(outcome.error for outcome in outcomes):
            raise CommandError("Not everything could be deleted; the next run tries again.")
