"""`manage.py import_jobs`: accounting records from sacct, or from a file that sacct wrote."""

import re
from datetime import UTC, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.accounting.services import store_runs
from jobs.management.slurm_files import file_and_zone
from jobs.sacct import SACCT_FIELDS, Accounting, SacctFormatError, job_runs
from jobs.slurm_client import SlurmClientError, accounting

AGE = re.compile(r"([0-9]{1,5})([mhd])")
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(BaseCommand):
    help = (
        "Store the ended runs of Slurm's accounting. A file is the output of"
        f" sacct -D -X -P --delimiter=$'\\x1f' --format={','.join(SACCT_FIELDS)}; `|` is read too, but a job name"
        " can contain that and look like another job, so use it only for files you trust. Slurm 22.05 has no Restarts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--since", default="24h", metavar="AGE", help="run sacct for the last 30m, 24h or 7d")
        source.add_argument("--from-file", metavar="FILE", help="read this file instead, or - for standard input")
        parser.add_argument("--cluster", default="lumi", help="Slurm's name of the cluster (default: lumi)")
        parser.add_argument("--time-zone", default="UTC", help="time zone of the times in FILE (default: UTC)")

    def handle(self, *args: Any, **options: Any) -> None:
        found = _from_file(options) if options["from_file"] else _from_sacct(options)
        stored = store_runs(found)
        for row in stored.left_out:
            self.stderr.write(str(row))
        runs = stored.new + stored.known
        said = f"{runs} runs: {stored.new} new or changed, {stored.known} unchanged"
        self.stdout.write(f"{said}; {len(stored.left_out)} rows left out")


def _from_sacct(options: dict[str, Any]) -> Accounting:
    age = AGE.fullmatch(options["since"])
    if age is None:
        raise CommandError(f"--since {options['since']}: not an age like 30m, 24h or 7d")
    since = timezone.now() - timedelta(**{UNITS[age[2]]: int(age[1])})
    try:
        output = accounting(since, cluster=options["cluster"])
        return job_runs(output.text, cluster=options["cluster"], zone=UTC, delimiter=output.delimiter)
    except (SlurmClientError, SacctFormatError) as error:
        raise CommandError(str(error)) from error


def _from_file(options: dict[str, Any]) -> Accounting:
    text, zone = file_and_zone(options)
    try:
        return job_runs(text, cluster=options["cluster"], zone=zone)
    except SacctFormatError as error:
        raise CommandError(f"{options['from_file']}: {error}") from error
