"""Storing what other sites shared, and removing it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import date, datetime
from typing import BinaryIO

from django.db import transaction

from analysis.anonymous.bands import ProgramOf
from analysis.anonymous.services import SECRET_BYTES
from analysis.elsewhere.models import ElsewhereMonth
from analysis.elsewhere.reading import Imported, read
from jobs.audit.services import Action, Actor, Kind, record_change


@dataclass(frozen=True)
class Import:
    """What a file had, and of how many months the stored rows are new or other ones."""

    file: Imported
    changed_months: int


def import_elsewhere(file: BinaryIO, *, site: str, by: Actor, now: datetime, program_of: ProgramOf) -> Import:
    """Store the rows of a file as those of this site. The same file again changes nothing; a newer one of the same
    format replaces the months that it has. Raises FileFormatError before anything is changed."""
    found = read(file, secrets.token_bytes(SECRET_BYTES), program_of)
    with transaction.atomic():
        changed = sum(_store(found, month, site, now) for month in found.months)
        if changed:
            months = f"{min(found.months)} to {max(found.months)}"
            details = f"{found.form}, {months}, {found.rows} rows, {found.rejected_count} rejected"
            record_change(by, Action.ELSEWHERE_IMPORTED, Kind.ELSEWHERE, site, details)
    return Import(found, changed)


def _store(found: Imported, month: str, site: str, now: datetime) -> int:
    first_day = date.fromisoformat(f"{month}-01")
    stored = ElsewhereMonth.objects.select_for_update().filter(site=site, first_day=first_day, form=found.form)
    if stored.filter(digest=found.digest).exists():
        return 0
    groups = [[list(values), count] for values, count in sorted(found.months[month].items())]
    ElsewhereMonth.objects.update_or_create(
        site=site,
        first_day=first_day,
        form=found.form,
        defaults={"groups": groups, "digest": found.digest, "imported_at": now},
    )
    return 1


def remove_elsewhere(site: str, by: Actor) -> int:
    """Remove everything of a site; how many months."""
    with transaction.atomic():
        removed, _ = ElsewhereMonth.objects.filter(site=site).delete()
        if removed:
            record_change(by, Action.ELSEWHERE_REMOVED, Kind.ELSEWHERE, site, f"{removed} months")
    return removed
