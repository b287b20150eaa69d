"""`manage.py expire`: remove what has been kept for its time; the worker does it by itself once a day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from portal.expiry import expire


class Command(BaseCommand):
    help = "Remove what was kept for as many days as the settings say; it may be stopped and started again at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        outcomes = expire(timezone.now())
        for outcome in outcomes:
            self.stdout.write(str(outcome))
        if any(outcome.error for outcome in outcomes):
            raise CommandError("Not everything could be removed; the next time tries again.")
