"""`manage.py import_jobs`: accounting records from sacct, or from a file that sacct wrote."""

from __future__ import annotations

import re
import sys
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DataError
from django.utils import timezone

from jobs.runs.services import RecordConflict
from jobs.sacct import SACCT_FIELDS, Accounting, LeftOut, SacctFormatError, job_runs
from jobs.services import record_job
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
        known = new = 0
        left_out = list(found.skipped)
        for line, record in zip(found.lines, found.records, strict=True):
            try:
                is_new = record_job(record)
            except RecordConflict as conflict:
                left_out.append(LeftOut(line, str(record.job_id), str(conflict)))
                continue
            except (DataError, ValueError, TypeError, ArithmeticError, LookupError) as error:
                # One row that cannot be stored must not prevent the others from being stored.
                left_out.append(LeftOut(line, str(record.job_id), f"cannot be stored: {type(error).__name__}"))
                continue
            new, known = new + is_new, known + (not is_new)
        for row in sorted(left_out, key=lambda row: row.line):
            self.stderr.write(str(row))
        self.stdout.write(f"{new + known} runs: {new} new or changed, {known} unchanged; {len(left_out)} rows left out")


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
    name = options["from_file"]
    try:
        zone = ZoneInfo(options["time_zone"])
    except (ValueError, OSError, KeyError) as error:
        raise CommandError(f"--time-zone {options['time_zone']}: not a known time zone") from error
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
    try:
        return job_runs(content.decode(errors="replace"), cluster=options["cluster"], zone=zone)
    except SacctFormatError as error:
        raise CommandError(f"{name}: {error}") from error
