"""`manage.py export_performance`: runs for analysts and models, printed or written to a file."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from analysis.exports.selectors import exports_waiting_since, refused_batch
from analysis.exports.services import note_runs
from jobs.audit.services import Action, Kind, by_command, record_change
from jobs.models import Job, Project, User
from jobs.records import ENDED_STATES
from jobs.selectors import BY_SITE
from jobs.work_queue.selectors import failures
from jobs.work_queue.services import try_again
from portal.institutional_reading import NoSuchMonthError, form_of, institutional, log_reading
from portal.management.exit_statuses import USAGE_ERROR
from portal.management.output_files import write_parts, write_to_standard_output
from portal.management.run_names import named_run
from portal.performance_reading import bounds
from reports.performance.rows import dictionary_text
from reports.performance.services import FORMATS, ended_runs
from reports.performance.targets.faults import Fault
from reports.performance.targets.services.sweep import EXPORT, export_due
from wire.numbers import counted

INSTITUTIONAL, FORMAT_DEFAULT = "institutional", "learning"
ENDINGS = ", ".join(f".{form.ending} {name}" for name, form in FORMATS.items())
FORMAT_HELP = f"default: as FILE ends ({ENDINGS}); without a file {FORMAT_DEFAULT}"
FILTERS = ("since", "until", "project", "user")

COUNTED_MAX = 1_000_000


@dataclass(frozen=True)
class Export:
    """What is written: how much in words, in which format, and the content part by part."""

    what: str
    form: str
    parts: Iterator[bytes]


class Command(BaseCommand):
    help = "Export runs that have ended: those named, or all that the filters leave."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("jobs", nargs="*", metavar="[CLUSTER/]JOBID")
        parser.add_argument("--format", choices=(*FORMATS, INSTITUTIONAL), help=FORMAT_HELP)
        parser.add_argument("--month", default="", metavar="MONTH", help="closed month of institutional, as in 2026-10")
        parser.add_argument("--since", metavar="TIME", help="runs that ended at this day or time, or later")
        parser.add_argument("--until", metavar="TIME", help="runs that ended before this day or time (UTC)")
        parser.add_argument("--project", help="runs of this project alone")
        parser.add_argument("--user", help="runs of this account alone")
        parser.add_argument("-o", "--output", metavar="FILE", help="file to write to; default: standard output")
        parser.add_argument(
            "--to-target",
            action="store_true",
            help="write to EXPORT_TARGET what waits; with --since all runs since then",
        )
        parser.add_argument("--dictionary", action="store_true", help="print what the columns of the tables mean")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dictionary"]:
            self.stdout.write(dictionary_text(), ending="")
            return
        if options["to_target"]:
            self.stdout.write(export_to_target(_target_since(options)))
            return
        is_for_sites = options["format"] == INSTITUTIONAL
        if bool(options["month"]) != is_for_sites:
            raise CommandError("institutional takes --month, and no other format does", returncode=USAGE_ERROR)
        self._write(self._of_month(options) if is_for_sites else _of_runs(options), options["output"])

    def _write(self, export: Export, name: str | None) -> None:
        if name:
            write_parts(name, export.parts)
            self.stderr.write(f"{export.what} written to {name} as {export.form}")
            return
        write_to_standard_output(export.parts)

    def _of_month(self, options: dict[str, Any]) -> Export:
        """The anonymised rows of a month, whose format is that of the file's name; says who is in none."""
        if options["jobs"] or any(options[name] for name in FILTERS):
            raise CommandError("institutional is a whole month: no jobs and no filters", returncode=USAGE_ERROR)
        try:
            form = form_of(options["output"] or "")
            asked = institutional(options["month"])
        except ValueError as error:
            raise CommandError(str(error), returncode=USAGE_ERROR) from error
        except NoSuchMonthError as error:
            raise CommandError(str(error)) from error
        log_reading(by_command("export_performance"), asked, form)
        self.stderr.write(asked.said)
        return Export(counted(asked.head.rows, "row"), form, asked.parts(form))


def _target_since(options: dict[str, Any]) -> datetime | None:
    if any(options[name] for name in ("jobs", "month", "until", "project", "user", "output")):
        raise CommandError("--to-target takes --since alone", returncode=USAGE_ERROR)
    try:
        return bounds(options["since"], None)[0]
    except ValueError as error:
        raise CommandError(str(error), returncode=USAGE_ERROR) from error


def _of_runs(options: dict[str, Any]) -> Export:
    form = _form(options["format"], options["output"] or "")
    if FORMATS[form].is_binary and not options["output"] and sys.stdout.isatty():
        raise CommandError(f"{form} cannot be written to the terminal; name a file with -o")
    return _of_named(options, form) if options["jobs"] else _of_all(options, form)


def _form(asked: str | None, file_name: str) -> str:
    """The format that is asked for, else that of the file's name; CommandError where both differ or none is known."""
    ending = PurePath(file_name).suffix.lower().removeprefix(".")
    of_ending = next((name for name, form in FORMATS.items() if form.ending == ending), None)
    if file_name and of_ending is None and (ending or not asked):
        raise CommandError(f"{file_name}: a file must end as its format: {ENDINGS}", returncode=USAGE_ERROR)
    if asked and of_ending and asked != of_ending:
        said = f"{file_name} is the name of a file with {of_ending}, and --format is {asked}"
        raise CommandError(f"{said}: name it .{FORMATS[asked].ending}", returncode=USAGE_ERROR)
    return asked or of_ending or FORMAT_DEFAULT


def _of_named(options: dict[str, Any], name: str) -> Export:
    if any(options[name] for name in FILTERS):
        raise CommandError("name jobs, or use filters: not both", returncode=USAGE_ERROR)
    runs = [named_run(name) for name in dict.fromkeys(options["jobs"])]
    for run in runs:
        if run.state not in ENDED_STATES:
            raise CommandError(f"{run} has not ended yet")
    form, what = FORMATS[name], counted(len(runs), "run")
    _log(", ".join(map(str, runs)), f"{name}, {what}")
    if len(runs) == 1:
        return Export(what, name, form.one(runs[0]))
    return Export(
        what, name, form.write(Job.objects.filter(pk__in=[run.pk for run in runs]).order_by("ended_at", "pk"))
    )


def _of_all(options: dict[str, Any], name: str) -> Export:
    try:
        since, until = bounds(options["since"], options["until"])
    except ValueError as error:
        raise CommandError(str(error), returncode=USAGE_ERROR) from error
    runs = ended_runs(_narrowed(options), since, until)
    said = ", ".join(f"{each} {options[each]}" for each in FILTERS if options[each])
    what = counted(runs.count(), "run")
    _log(said or "all runs", f"{name}, {what}")
    return Export(what, name, FORMATS[name].write(runs))


def _narrowed(options: dict[str, Any]) -> QuerySet[Job]:
    """Runs of the named project and account; CommandError where there is no such one."""
    runs = Job.objects.all()
    if options["project"]:
        project = Project.objects.filter(name=options["project"]).first()
        if project is None:
            raise CommandError(f"no project {options['project']} is stored here")
        runs = runs.filter(project=project)
    if options["user"]:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"no account {options['user']} is stored here")
        runs = runs.filter(user=user)
    return runs


def _log(what: str, details: str) -> None:
    """Store what was exported, before the first row of it is read."""
    with transaction.atomic():
        record_change(by_command("export_performance"), Action.RUNS_EXPORTED, Kind.JOB, what, details)


def export_to_target(since: datetime | None) -> str:
    """Write what waits, with `since` every judged run that ended since as well; says how many were written.

    Safe to stop and to start again: what was put on the list stays there. CommandError where the target takes nothing.
    """
    if settings.EXPORT_TARGET is None:
        raise CommandError("EXPORT_TARGET is not set: there is no target")
    noted = note_since(since) if since else 0
    try_again(failures(EXPORT).filter(claimed_until=None))
    written = sum(iter(export_due, 0))
    left, _ = exports_waiting_since(COUNTED_MAX)
    said = f"{f'{noted} runs put on the list, ' if since else ''}{written} written, {left} left"
    refused = refused_batch()
    if refused is not None and failures(EXPORT).filter(key=refused.pk, claimed_until__isnull=False).exists():
        # Its stored fault is that of an earlier try.
        return f"{said}: another worker is writing now"
    if refused is not None:
        raise CommandError(f"{said}: the target takes nothing: {Fault[refused.fault].said}")
    return f"{said} to the workers" if left else said


def note_since(since: datetime) -> int:
    """Put every judged run that ended since on the list, once that is logged; how many."""
    runs = ended_runs(Job.objects.filter(BY_SITE, efficiency__isnull=False), since)
    _log(f"since {since:%Y-%m-%d %H:%M}", "to EXPORT_TARGET")
    return note_runs(runs.values_list("pk", flat=True).iterator(), timezone.now())
