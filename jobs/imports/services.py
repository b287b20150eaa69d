"""Reading a directory and storing its data, with a record of the result for administrators."""

import logging
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings

from jobs.directory import Directory
from jobs.directory_client import DirectoryError, read_source
from jobs.models import DirectoryImport
from jobs.services import DirectoryChange, DirectoryShrunk, record_directory
from jobs.work_queue.services import Work, attempt_each

KEPT = timedelta(days=90)
SKIPPED_SHOWN_MAX = 50
IMPORT, ONLY = "directory import", 1
"""The kind of work under which a failure is recorded, and its key: there is one directory."""

LEASE = timedelta(hours=1)
"""Twice the time limit of the step."""

log = logging.getLogger(__name__)


def import_from(
    source: str, *, cluster: str, now: datetime, is_forced: bool = False
) -> tuple[Directory, DirectoryChange]:
    """Store the current data of this source. Raises DirectoryError, DirectoryShrunk or our own error, once recorded."""
    record = DirectoryImport(asked=without_secrets(source, source)[:255], began_at=now)
    access = {"token": settings.WALDUR_TOKEN, "offering": settings.WALDUR_OFFERING}
    try:
        directory = read_source(source, cluster=cluster, now=now, case=settings.OIDC_SUBJECT_CASE, **access)
        change = record_directory(directory, is_forced=is_forced)
    except Exception as error:
        is_theirs = isinstance(error, DirectoryError | DirectoryShrunk)
        record.error = (
            without_secrets(str(error), source)[:500] if is_theirs else f"internal error: {type(error).__name__}"
        )
        record.save()
        raise
    for name, value in asdict(change).items():
        setattr(record, name, value)
    record.source, record.skipped = directory.source, len(directory.skipped)
    record.skipped_rows = list(directory.skipped[:SKIPPED_SHOWN_MAX])
    record.save()
    DirectoryImport.objects.filter(began_at__lt=now - KEPT).delete()
    return directory, change


def without_secrets(text: str, source: str) -> str:
    """A text that names a source, fit to be shown: addresses without user name, password and query.

    >>> address = "https://kaiku:hidden@puhuri.example/api?token=1"
    >>> without_secrets(address, address), without_secrets("slurm", "slurm")
    ('https://puhuri.example/api', 'slurm')
    """
    parts = urlsplit(source)
    name, at, _ = parts.netloc.rpartition("@")
    for secret in (f"{name}{at}", f"?{parts.query}"):
        text = text.replace(secret, "") if len(secret) > 1 else text
    return text


def import_directory(now: datetime) -> int:
    """Store the data of DIRECTORY_SOURCE; a failed import is tried again later, and is never set aside."""
    work = Work(IMPORT, partial(_import, now=now), lease=LEASE, is_recurring=True, name=directory_name)
    return attempt_each(work, [[ONLY]], now).done


def directory_name(_: int) -> str:
    """The configured directory, without the secrets of its address."""
    return without_secrets(settings.DIRECTORY_SOURCE, settings.DIRECTORY_SOURCE)


def _import(_: int, now: datetime) -> bool:
    try:
        _read, change = import_from(settings.DIRECTORY_SOURCE, cluster=settings.DIRECTORY_CLUSTER, now=now)
        log.info("directory: %s", change)
    except (DirectoryError, DirectoryShrunk) as error:
        # Its message may quote a row; the page of the directories shows it.
        log.error("the directory changed nothing: %s", type(error).__name__)
        return False
    return True
