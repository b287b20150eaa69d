"""`manage.py seed_lessons`: store the lessons Kaiku comes with."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from education.services.seeding import store_seeds


class Command(BaseCommand):
    help = "Store the lessons Kaiku comes with, and their changes of a new release; what staff edited stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        done = store_seeds()
        if options["verbosity"]:
            self.stdout.write(f"{done.created} lessons new, {done.updated} updated, {done.kept} left to staff")
