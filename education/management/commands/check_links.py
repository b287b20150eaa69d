"""`manage.py check_links`: check whether every documentation link still answers."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from education.services.links import TIMEOUT_S, check_links


class Command(BaseCommand):
    help = "Request each link of the lessons; mark and list those that do not answer. Fails when there is any."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds to wait for an answer")

    def handle(self, *args: Any, **options: Any) -> None:
        checked = check_links(timeout_s=options["timeout"])
        dead = [found for found in checked if found.problem]
        for found in dead:
            self.stdout.write(f"{found.url}\n    {found.problem}")
        if dead:
            raise CommandError(f"{len(dead)} of {len(checked)} addresses did not answer")
        self.stdout.write(f"all {len(checked)} addresses answered")
