"""`manage.py export_policy`: the policy export of closed months, printed or written to a file."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.policy.figures import KINDS
from jobs.audit.services import by_command
from portal.management.exit_statuses import USAGE_ERROR
from portal.management.output_files import write_parts, write_to_standard_output
from portal.policy_reading import FORMATS, NoSuchPeriod, log_reading, parts, reading, what_of


class Command(BaseCommand):
    help = "Print the policy export of the latest closed month, or of others, or write it to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--period", metavar="MONTH", help="a closed month, such as 2026-10")
        parser.add_argument("--since", metavar="MONTH", help="all closed months from this one")
        parser.add_argument("--until", metavar="MONTH", help="until before this month")
        parser.add_argument("--by", choices=KINDS, help="rows of projects or of users alone")
        parser.add_argument("--format", choices=FORMATS, default="json")
        parser.add_argument("-o", "--output", metavar="FILE", help="file to write to; default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            asked = reading(**{name: options[name] for name in ("period", "since", "until", "by")})
        except ValueError as error:
            raise CommandError(str(error), returncode=USAGE_ERROR) from error
        except NoSuchPeriod as error:
            raise CommandError(str(error)) from error
        log_reading(by_command("export_policy"), what_of(asked), options["format"], asked.rows.count())
        found = parts(asked, options["format"])
        if options["output"]:
            write_parts(options["output"], found)
        else:
            write_to_standard_output(found)
