"""`manage.py import_performance`: rows of other sites, for comparisons on the Site page."""

import re
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from analysis.elsewhere.reading import FileFormatError, Rejected
from analysis.elsewhere.selectors import other_sites
from analysis.elsewhere.services import Import, import_elsewhere, remove_elsewhere
from jobs.audit.services import Actor, by_command
from portal.charts.programs import program_codes
from portal.management.exit_statuses import USAGE_ERROR
from wire.numbers import counted

SITE_NAME = re.compile(r"[^\W_](?:[\w .-]{0,62}[^\W_])?", re.ASCII)


class Command(BaseCommand):
    help = (
        "Import the anonymised rows (institutional) or learning documents of another site into the comparisons of the"
        " Site page. Names in learning documents are not stored. The same file again changes nothing; a newer one"
        " replaces the months that it has."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", metavar="FILE", help="JSON lines, or ASBA's performance documents")
        parser.add_argument("--site", metavar="NAME", help="the site whose file it is")
        parser.add_argument("--remove", metavar="SITE", help="remove everything that this site shared")

    def handle(self, *args: Any, **options: Any) -> None:
        by = by_command("import_performance")
        if options["remove"] is not None:
            if options["file"] or options["site"]:
                raise CommandError("name a file to import, or a site to remove: not both", returncode=USAGE_ERROR)
            self._remove(options["remove"], by)
            return
        if not options["file"] or not options["site"]:
            raise CommandError("name a file and --site", returncode=USAGE_ERROR)
        if not SITE_NAME.fullmatch(options["site"]):
            raise CommandError(
                "a site has a name of 1 to 64 letters, digits, spaces, dots and hyphens", returncode=USAGE_ERROR
            )
        self._show(self._imported(options["file"], options["site"], by), options["file"])

    def _remove(self, site: str, by: Actor) -> None:
        months = remove_elsewhere(site, by)
        if not months:
            known = ", ".join(other_sites())
            raise CommandError(f"nothing of a site with this name is stored; stored sites: {known or 'none'}")
        self.stdout.write(f"{counted(months, 'month')} removed")

    def _show(self, done: Import, name: str) -> None:
        file = done.file
        self._name(file.rejected, name)
        more = file.rejected_count - len(file.rejected)
        if more:
            self.stderr.write(f"{name}: {counted(more, 'more row')} rejected")
        for month, why in done.refused.items():
            self.stderr.write(f"{name}: {month}: {why}")
        self.stdout.write(
            f"{file.form}: {counted(file.rows, 'row')} read, {file.rejected_count} rejected,"
            f" {counted(file.anonymous_rows, 'anonymous row')} in {counted(len(file.months), 'month')},"
            f" {file.withheld} withheld"
        )
        self.stdout.write(f"{counted(done.changed_months, 'month')} stored" if done.changed_months else "nothing new")

    def _imported(self, name: str, site: str, by: Actor) -> Import:
        """What was stored of a file; CommandError where it cannot be read, is not whole, or has nothing to use."""
        try:
            with open(name, "rb") as file:
                return import_elsewhere(file, site=site, by=by, now=timezone.now(), program_of=program_codes())
        except OSError as error:
            raise CommandError(f"{name}: cannot be read: {error.strerror}") from error
        except FileFormatError as error:
            self._name(error.rejected, name)
            raise CommandError(f"{name}: {error}") from error

    def _name(self, rejected: Iterable[Rejected], name: str) -> None:
        for each in rejected:
            self.stderr.write(f"{name}:{each.line}: {each.message}")
