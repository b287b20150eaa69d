"""`manage.py ingest FILE…`: payloads from files, through the same service as HTTP."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.ingest.body import MalformedBody, lines, records
from portal.ingest.services import KINDS, Outcome, ingest
from wire.numbers import counted


class Command(BaseCommand):
    help = "Store node-summary/1, job-record/1 and raw-samples/1 payloads from JSON or JSON Lines files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a JSON or JSON Lines file, or - for standard input"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        refused = 0
        for name in options["files"]:
            outcome = ingest(self._documents(name), list(KINDS))
            self._say(name, outcome)
            refused += len(outcome.rejected)
        if refused:
            were = "was" if refused == 1 else "were"
            raise CommandError(f"{counted(refused, 'record')} {were} rejected; all others are stored.")

    def _documents(self, name: str) -> Iterable[Any]:
        try:
            body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        try:
            return records(body)
        except MalformedBody:
            found = list(lines(body))
        if all(isinstance(document, MalformedBody) for document in found):
            raise CommandError(f"{name}: neither JSON nor JSON Lines")
        return found

    def _say(self, name: str, outcome: Outcome) -> None:
        counts = f"{outcome.accepted} new, {outcome.duplicate} known, {len(outcome.rejected)} rejected"
        self.stdout.write(f"{name}: {counts}")
        for index, problems in outcome.rejected:
            for path, message in problems:
                self.stderr.write(f"{name}: record {index}: {path or 'record'}: {message}")
