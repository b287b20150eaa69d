"""`manage.py report`: the report of one run, printed or written to a file."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.management.output_files import write_report
from portal.management.run_names import named_run
from reports.selectors import report_row
from reports.services.formats import rendered
from reports.services.pdf import PdfUnavailable

NAMES = {"text": "txt", "markdown": "md", "html": "html", "pdf": "pdf", "json": "json"}


class Command(BaseCommand):
    help = "Print the report of one job, or write it to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="[CLUSTER/]JOBID")
        parser.add_argument("--format", choices=NAMES, default="text")
        parser.add_argument("-o", "--output", metavar="FILE", help="file to write to; default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        run = named_run(options["job"])
        row = report_row(run)
        if row is None:
            raise CommandError(f"{run} has no report yet; `manage.py analyse_job {run.cluster}/{run.job_id}` makes it")
        try:
            content = rendered(run, row, NAMES[options["format"]])
        except PdfUnavailable as error:
            raise CommandError(str(error)) from error
        write_report(content, options["output"], options["format"])
