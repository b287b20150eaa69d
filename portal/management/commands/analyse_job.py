"""`manage.py analyse_job`: judge one run, all due runs, or all runs again; then make their reports."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.models import JobEfficiency
from analysis.selectors import would_change
from analysis.services import analyse_again, analyse_by_hand, analyse_due
from jobs.models import Job
from jobs.work_queue.selectors import failure_counts
from jobs.work_queue.services import WorkFailed
from portal.management.run_names import named_run
from reports.services.publishing import publish_by_hand, publish_due

BATCH_SIZE = 500

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Analyse one job, all due jobs, or all jobs (after a change of the rules), and make the reports."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("job", nargs="?", metavar="[CLUSTER/]JOBID")
        what.add_argument("--due", action="store_true", help="every ended run with data that has not been judged yet")
        what.add_argument("--all", action="store_true", help="every run that was ever judged, again")
        parser.add_argument(
            "--dry-run", action="store_true", help="with --all: store nothing, show how many runs would change class"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            if not options["all"]:
                raise CommandError("--dry-run can only be used with --all")
            self._say_changes()
            return
        reported = 0
        if options["job"]:
            judged, reported = analyse_one(named_run(options["job"]))
        elif options["all"]:
            runs = Job.objects.filter(efficiency__isnull=False).values_list("pk", flat=True)
            judged = sum(analyse_again(pk) for pk in runs.iterator(chunk_size=BATCH_SIZE))
        else:
            judged = do_everything_due(analyse_due)
        self.stdout.write(f"{judged} analysed, {reported + do_everything_due(publish_due)} reports made")
        if failed := sum(failure_counts().values()):
            self.stderr.write(
                f"pieces of work that failed so far: {failed}; /admin/ lists them, with a button to retry"
            )

    def _say_changes(self) -> None:
        """How many judged runs would get another class, from which to which, and how many would have other findings."""
        rows = JobEfficiency.objects.select_related("job__user", "job__project").prefetch_related("findings")
        classes: Counter[tuple[str, str]] = Counter()
        total = other_findings = unjudged = 0
        for row in rows.order_by("pk").iterator(chunk_size=BATCH_SIZE):
            total += 1
            try:
                now, has_other_findings = would_change(row)
            except Exception:
                log.exception("judgement %s cannot be made again", row.pk)
                unjudged += 1
                continue
            other_findings += has_other_findings
            if now != row.efficiency_class:
                classes[row.efficiency_class, now] += 1
        self.stdout.write(f"{sum(classes.values())} of {total} runs would change class")
        for (before, now), count in sorted(classes.items()):
            self.stdout.write(f"  {before} -> {now}: {count}")
        self.stdout.write(f"{other_findings} would have other findings; nothing was stored")
        if unjudged:
            self.stderr.write(f"{unjudged} cannot be judged again: the log shows why")


def analyse_one(run: Job) -> tuple[int, int]:
    """Judge this run and make its report, however often that failed: how many of each were made, 0 or 1."""
    try:
        return analyse_by_hand(run.pk), publish_by_hand(run.pk)
    except WorkFailed as error:
        raise CommandError(f"{error}; /admin/ lists it, with a button to retry") from error


def do_everything_due(of_a_batch: Callable[[int], int]) -> int:
    """Batch by batch until nothing is due."""
    total = 0
    while done := of_a_batch(BATCH_SIZE):
        total += done
    return total
