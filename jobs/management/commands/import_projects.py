"""`manage.py import_projects`: who belongs to which project, and which identity is whose, from a directory."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.directory_client import DirectoryError
from jobs.imports.services import import_from
from jobs.services import DirectoryShrunk


class Command(BaseCommand):
    help = (
        "Store users, projects, members, PIs and identities as a directory lists them; what it no longer lists is"
        " removed. FILE is a CSV with the columns username,project,role,subject,email, one of LUMI's project files, or"
        " the folder of all of them. Without any, DIRECTORY_SOURCE is read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group()
        source.add_argument("file", nargs="?", metavar="FILE", help="a CSV, a project_N.json, or their folder")
        source.add_argument(
            "--waldur", metavar="URL", help="Waldur or Puhuri; with the settings WALDUR_TOKEN and WALDUR_OFFERING"
        )
        source.add_argument("--slurm", action="store_true", help="read associations and coordinators from sacctmgr")
        parser.add_argument("--cluster", default=settings.DIRECTORY_CLUSTER, help="Slurm's name of the cluster")
        parser.add_argument(
            "--force", action="store_true", help="even if most memberships or the last administrator's role end"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        source = options["file"] or options["waldur"] or ("slurm" if options["slurm"] else settings.DIRECTORY_SOURCE)
        if not source:
            raise CommandError("name a FILE, --waldur URL or --slurm, or set DIRECTORY_SOURCE")
        if options["waldur"] and not source.startswith(("https://", "http://")):
            raise CommandError(f"--waldur {source}: not an http(s) address")
        try:
            directory, change = import_from(
                source, cluster=options["cluster"], now=timezone.now(), is_forced=options["force"]
            )
        except DirectoryError as error:
            raise CommandError(str(error)) from error
        except DirectoryShrunk as error:
            raise CommandError(f"{error}; nothing was changed. Use --force to apply it anyway") from error
        for row in directory.skipped:
            self.stderr.write(row)
        self.stdout.write(
            f"{change.projects} projects, {change.memberships} memberships: {change.began} began, {change.ended} ended;"
            f" {change.relinked} identities changed;"
            f" portal roles: {change.roles_began} began, {change.roles_ended} ended;"
            f" {len(directory.skipped)} rows left out"
        )
