"""`manage.py rekey_works`: compute the work key of every stored run again, and what rests on the keys."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from analysis.outcomes.services import note_all as note_all_advice
from analysis.rollups.services import note_all as note_all_days
from analysis.services import copy_work_keys
from jobs.models import Job
from jobs.services import fill_work_keys

BATCH_ROWS = 2000


class Command(BaseCommand):
    help = (
        "Compute again which runs are the same work: after a change of WORK_KEY_SECRET (or of SECRET_KEY where that"
        " is not set). Workers then renew the daily sums and what became of advice. Can be stopped and run again at"
        " any time; judgements do not change until analyse_job --all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH_ROWS, metavar="ROWS", help="runs at a time")

    def handle(self, *args: Any, **options: Any) -> None:
        size = max(options["batch"], 1)
        runs = changed = keyed = 0
        last = 0
        columns = ("cluster", "user__username", "project__name", "job_name", "script_key", "work_key")
        stored = Job.objects.select_related("user", "project").only(*columns).order_by("pk")
        while batch := list(stored.filter(pk__gt=last)[:size]):
            last = batch[-1].pk
            runs += len(batch)
            changed += fill_work_keys(batch)
            copy_work_keys([job.pk for job in batch])
            keyed += sum(bool(job.work_key) for job in batch)
        note_all_days(timezone.now())
        note_all_advice(timezone.now())
        self.stdout.write(f"{runs} runs: {changed} got another key; {keyed} belong to a work, {runs - keyed} to none")
