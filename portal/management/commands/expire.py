"""`manage.py expire`: delete data past its retention time; a worker does this automatically once a day."""

import logging
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from portal.expiry import expire

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Delete data past the retention times in the settings; the command can be stopped and restarted at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        outcomes = expire(timezone.now())
        for outcome in outcomes:
            self.stdout.write(str(outcome))
            if outcome.error:
                log.error("%s could not be deleted", outcome.kind.name, exc_info=outcome.error)
        if any(outcome.error for outcome in outcomes):
            raise CommandError("Not everything could be deleted; the next run tries again.")
