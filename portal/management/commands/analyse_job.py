"""`manage.py analyse_job`: judge one run, those that are due, or all again; then make their reports."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.models import JobEfficiency
from analysis.selectors import would_change
from analysis.services import analyse_due, analyse_job
from jobs.models import Job
from portal.parts.runs import named_run
from reports.services.publishing import publish_due

BATCH_SIZE = 500


class Command(BaseCommand):
    help = "Analyse one job, what is due, or everything (after a change of the rules), and make the reports."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("job", nargs="?", metavar="[CLUSTER/]JOBID")
        what.add_argument("--due", action="store_true", help="every ended run with data that was not judged yet")
        what.add_argument("--all", action="store_true", help="every run that was ever judged, again")
        parser.add_argument(
            "--dry-run", action="store_true", help="with --all: store nothing, say how many would change class"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            if not options["all"]:
                raise CommandError("--dry-run goes with --all")
            self._say_changes()
            return
        if options["job"]:
            judged = int(analyse_job(named_run(options["job"]).pk))
        elif options["all"]:
            runs = Job.objects.filter(efficiency__isnull=False).values_list("pk", flat=True)
            judged = sum(analyse_job(pk) for pk in runs.iterator(chunk_size=BATCH_SIZE))
        else:
            judged = analyse_everything_due()
        self.stdout.write(f"{judged} analysed, {publish_everything_due()} reports made")

    def _say_changes(self) -> None:
        """How many judged runs would get another class, from which to which, and how many other findings."""
        rows = JobEfficiency.objects.select_related("job__user", "job__project").prefetch_related("findings")
        classes: Counter[tuple[str, str]] = Counter()
        total = other_findings = 0
        for row in rows.order_by("pk").iterator(chunk_size=BATCH_SIZE):
            now, has_other_findings = would_change(row)
            total += 1
            other_findings += has_other_findings
            if now != row.efficiency_class:
                classes[row.efficiency_class, now] += 1
        self.stdout.write(f"{sum(classes.values())} of {total} runs would change class")
        for (before, now), count in sorted(classes.items()):
            self.stdout.write(f"  {before} -> {now}: {count}")
        self.stdout.write(f"{other_findings} would have other findings; nothing was stored")


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
