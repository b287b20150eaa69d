"""`manage.py analyse_job`: judge one run, those that are due, or all again; then make their reports."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from analysis.services import analyse_due, analyse_job
from jobs.models import Job
from portal.runs import named_run
from reports.services.publishing import publish_due

BATCH_SIZE = 500


class Command(BaseCommand):
    help = "Analyse one job, what is due, or everything (after a change of the rules), and make the reports."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("job", nargs="?", metavar="[CLUSTER/]JOBID")
        what.add_argument("--due", action="store_true", help="every ended run with data that was not judged yet")
        what.add_argument("--all", action="store_true", help="every run that was ever judged, again")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["job"]:
            judged = int(analyse_job(named_run(options["job"]).pk))
        elif options["all"]:
            runs = Job.objects.filter(efficiency__isnull=False).values_list("pk", flat=True)
            judged = sum(analyse_job(pk) for pk in runs.iterator(chunk_size=BATCH_SIZE))
        else:
            judged = analyse_everything_due()
        self.stdout.write(f"{judged} analysed, {publish_everything_due()} reports made")


def analyse_everything_due() -> int:
    """Batch by batch until nothing is due."""
    total = 0
    while done := analyse_due(BATCH_SIZE):
        total += done
    return total


def publish_everything_due() -> int:
    """Batch by batch until nothing is due."""
    total = 0
    while done := publish_due(BATCH_SIZE):
        total += done
    return total
