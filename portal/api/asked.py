"""What the address of a call asks for; everything that makes no sense is 400, never left out."""

import re
from collections.abc import Collection, Sequence

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from jobs.hardware import clusters
from jobs.models import User
from jobs.records import JOB_NAME_LENGTH_MAX
from jobs.selectors import works_named
from wire.work_names import is_work_key

DAYS_MAX, DAYS = 366, 90
NO_WORK = "-"
"""What no work has as its key: for a name that names none."""


def asked_number(request: Request, name: str, default: int, most: int, least: int = 1) -> int:
    """A whole number from `least` to `most`. Raises ValidationError."""
    text = request.query_params.get(name)
    if text is None:
        return default
    number = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not least <= number <= most:
        raise ValidationError(f"{name} must be a whole number from {least:,} to {most:,}.")
    return number


def asked_job_id(request: Request) -> int:
    """The number of a job. Raises ValidationError."""
    text = request.query_params["job_id"]
    if not re.fullmatch("[1-9][0-9]{0,17}", text):
        raise ValidationError("job_id must be a whole number from 1, of at most 18 digits.")
    return int(text)


def asked_choice(request: Request, name: str, choices: Sequence[str], default: str) -> str:
    """One of some words. Raises ValidationError."""
    text = request.query_params.get(name, default)
    if text != default and text not in choices:
        raise ValidationError(f"{name} must be one of {', '.join(choices)}.")
    return text


def asked_text(request: Request, name: str) -> str:
    """A short text, empty where none is given. Raises ValidationError."""
    text = request.query_params.get(name, "")
    if len(text) > JOB_NAME_LENGTH_MAX or not text.isprintable():
        raise ValidationError(f"{name} must have at most {JOB_NAME_LENGTH_MAX} printable characters.")
    return text


def asked_works(request: Request, user: User) -> Collection[str] | None:
    """The keys of the works that `?work=` names, by their key or by the name of a job; None where it names none.

    A name is compared as runs are: without dates, counters and versions, in each project and cluster of this person.
    """
    text = asked_text(request, "work")
    if not text:
        return None
    return [text] if is_work_key(text) else list(works_named(user, text, clusters())) or [NO_WORK]


class JobPages(PageNumberPagination):
    """`?page=` and `?page_size=`: whole numbers from 1; 400 for another size, 404 for a page that does not exist.

    `?limit=` is the size for programs that read one page alone: more fit on it, and too many are 400.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
    limit_max = 500

    def get_page_size(self, request: Request) -> int | None:
        if "limit" in request.query_params:
            return asked_number(request, "limit", self.limit_max, self.limit_max)
        asked = request.query_params.get(self.page_size_query_param)
        if asked is not None and not (asked.isdecimal() and int(asked[:9])):
            raise ValidationError("page_size must be a whole number of at least 1.")
        return super().get_page_size(request)
