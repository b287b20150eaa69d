"""`manage.py grant_report`: the grant report of a project, printed or written to a file."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from analysis.rollups.selectors import site_now
from jobs.models import Project
from portal.grant_reading import CONTENT_TYPES, asked_span, content
from portal.management.exit_statuses import USAGE_ERROR
from portal.management.output_files import write_report
from reports.grant.selectors import allocation_of, grant_report, whole_project
from reports.grant.spans import SpanError
from reports.services.pdf import PdfUnavailable


class Command(BaseCommand):
    help = "Print what a project used in a period, and how well, or write it to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--from", metavar="DAY", dest="first", help="first day, such as 2026-01-01")
        parser.add_argument("--until", metavar="DAY", dest="last", help="last day; both default to the allocation's")
        parser.add_argument("--format", choices=CONTENT_TYPES, default="json")
        parser.add_argument("--names", action="store_true", help="name members and works")
        parser.add_argument("-o", "--output", metavar="FILE", help="file to write to; default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(name=options["project"]).first()
        if project is None:
            raise CommandError(f"there is no project {options['project']} here")
        try:
            span = asked_span(options["first"], options["last"], site_now().date(), allocation_of(project))
        except SpanError as error:
            raise CommandError(str(error), returncode=USAGE_ERROR) from error
        report = grant_report(whole_project(project), span, timezone.now(), with_names=options["names"])
        try:
            write_report(content(report, options["format"]), options["output"], options["format"])
        except PdfUnavailable as error:
            raise CommandError(str(error)) from error
