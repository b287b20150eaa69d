"""Reading what waits to be exported."""

from collections.abc import Collection
from datetime import datetime

from django.conf import settings

from analysis.exports.models import ExportBatch, ExportDue


def unfinished_batches() -> list[int]:
    """The batches that the target has not confirmed, the oldest first."""
    return list(ExportBatch.objects.order_by("pk").values_list("pk", flat=True))


def still_unfinished(batches: Collection[int]) -> list[int]:
    """Those of these batches, in their order, that the target has not confirmed."""
    left = set(ExportBatch.objects.filter(pk__in=batches).values_list("pk", flat=True))
    return [pk for pk in batches if pk in left]


def refused_batch() -> ExportBatch | None:
    """The batch that the target did not take for the longest time; None where it takes everything."""
    return ExportBatch.objects.exclude(fault="").order_by("failed_since", "pk").first()


def runs_of(batch: int) -> list[int]:
    """The keys of the runs in a batch, each once, in the order in which they were noted."""
    return list(dict.fromkeys(ExportDue.objects.filter(batch=batch).order_by("pk").values_list("job", flat=True)))


def exports_waiting_since(limit: int) -> tuple[int, datetime | None]:
    """How many judgements wait to be exported, counted up to `limit`, and since when; none where there is no target."""
    if settings.EXPORT_TARGET is None:
        return 0, None
    waiting = ExportDue.objects.order_by("pk")
    return waiting.values("pk")[:limit].count(), waiting.values_list("noted_at", flat=True).first()
