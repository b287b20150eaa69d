"""Storing what other sites shared, and removing it."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import BinaryIO

from django.db import transaction

from analysis.anonymous.bands import ProgramOf, Values
from analysis.anonymous.services import SECRET_BYTES
from analysis.elsewhere.models import ElsewhereMonth
from analysis.elsewhere.reading import FileFormatError, Imported, read
from analysis.feedback import GROUP_USERS_MIN
from analysis.months.selectors import next_month
from analysis.rollups.selectors import site_zone
from jobs.audit.services import Action, Actor, Kind, record_change

NO_ROWS = "no rows; nothing stored"
ALL_RARE = f"no anonymous rows, because fewer than {GROUP_USERS_MIN} share each combination; nothing stored"


@dataclass(frozen=True)
class Import:
    """What a file had, of how many months the stored rows are new or other ones, and what of it is not stored, why."""

    file: Imported
    changed_months: int
    refused: dict[str, str]


def import_elsewhere(file: BinaryIO, *, site: str, by: Actor, now: datetime, program_of: ProgramOf) -> Import:
    """Store the rows of a file as those of this site. The same file again changes nothing; a newer one of the same
    format replaces the months that it has, those apart that have not ended or have no anonymous row. Raises
    FileFormatError before anything is changed, also where no month is left."""
    found = read(file, secrets.token_bytes(SECRET_BYTES), program_of)
    refused = {month: why for month, groups in found.months.items() if (why := _refusal(month, groups, found, now))}
    stored = [month for month in found.months if month not in refused]
    if not stored:
        raise FileFormatError("; ".join(f"{month}: {why}" for month, why in refused.items()) or NO_ROWS)
    with transaction.atomic():
        changed = sum(_store(found, month, site, now) for month in stored)
        if changed:
            months = f"{min(stored)} to {max(stored)}"
            details = f"{found.form}, {months}, {found.rows} rows, {found.rejected_count} rejected"
            record_change(by, Action.ELSEWHERE_IMPORTED, Kind.ELSEWHERE, site, details)
    return Import(found, changed, refused)


def _refusal(month: str, groups: Mapping[Values, int], found: Imported, now: datetime) -> str:
    """Why the rows of a month are not stored; empty where they are."""
    if next_month(date.fromisoformat(f"{month}-01")) > now.astimezone(site_zone()).date():
        return "the month has not ended yet; nothing stored"
    return "" if groups else ALL_RARE if found.rows else NO_ROWS


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
