"""`manage.py preview_mail`: the message about one job, printed or written to a file; nothing is sent."""

import base64
import uuid
from collections.abc import Callable
from email.message import Message
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.management.output_files import write_file
from portal.management.run_names import named_run
from reports.mail.emails import Letter
from reports.mail.services.letters import letter
from reports.models import Report
from reports.selectors import delivery_choices, told_reports
from wire.safe_text import printable


class Command(BaseCommand):
    help = "Print the message about one job. Nothing is sent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="[CLUSTER/]JOBID")
        parser.add_argument("--format", choices=FORMATS, default="text", help="headers and text, HTML alone, or all")
        parser.add_argument("-o", "--output", metavar="FILE", help="file to write to; default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        run = named_run(options["job"])
        rows = list(told_reports(Report.objects.filter(job=run)))
        if not rows:
            raise CommandError(f"{run} has no report yet; `manage.py analyse_job {run.cluster}/{run.job_id}` makes it")
        choices = delivery_choices([run.user_id])[run.user_id]
        made = letter(run.user, str(uuid.uuid4()), rows, with_pdf=choices.with_pdf)
        shown = FORMATS[options["format"]](made)
        if options["output"]:
            write_file(options["output"], shown.encode())
        else:
            self.stdout.write(shown)


def as_text(made: Letter) -> str:
    """The headers, the text, and the attachments."""
    message = made.message()
    headers = [f"{name}: {printable(value)}" for name, value in decoded(message, made)]
    parts = [f"[{part.get_content_type()} {part.get_filename()}]" for part in message.walk() if part.get_filename()]
    return "\n".join([*headers, "", str(made.body), *parts])


def decoded(message: Message, made: Letter) -> list[tuple[str, str]]:
    """The headers as people read them, with the subject not encoded yet."""
    return [(name, str(made.subject) if name == "Subject" else str(value)) for name, value in message.items()]


def as_html(made: Letter) -> str:
    """The HTML with its images embedded, for a browser."""
    html = made.html
    for name, png in made.pictures.items():
        html = html.replace(f"cid:{name}@kaiku", f"data:image/png;base64,{base64.b64encode(png).decode()}")
    return html


def as_message(made: Letter) -> str:
    """All of it, as it is sent."""
    return str(made.message().as_string())


FORMATS: dict[str, Callable[[Letter], str]] = {"text": as_text, "html": as_html, "eml": as_message}
