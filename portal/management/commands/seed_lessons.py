"""`manage.py seed_lessons`: store the lessons Kaiku comes with."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from education.services.seeding import store_seeds
from jobs.audit.services import Action, Change, Kind, by_command, record_changes


class Command(BaseCommand):
    help = "Store the lessons that come with Kaiku, and their updates; lessons that staff edited stay unchanged."

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            done = store_seeds()
            changes = (Change(Action.LESSON_CHANGED, Kind.LESSON, code, "as shipped") for code in done.changed)
            record_changes(by_command("seed_lessons"), changes)
        if options["verbosity"]:
            self.stdout.write(
                f"{done.created} lessons new, {done.updated} updated, {done.kept} edited by staff and unchanged"
            )
