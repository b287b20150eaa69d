"""`manage.py create_token`: let the collectors of a cluster in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from metrics.services import create_collector_token


class Command(BaseCommand):
    help = "Create a collector token and print it; it is stored hashed and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for, for example lumi-g-nodes")
        parser.add_argument("--cluster", default="lumi", help="the only cluster the token speaks for")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(create_collector_token(options["name"], options["cluster"]))
        except IntegrityError as error:
            raise CommandError(f"there is a token named {options['name']} already") from error
