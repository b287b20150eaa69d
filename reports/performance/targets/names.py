"""Names of what the automatic export writes: the same again for the same, so that a second try replaces the first."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

UNFINISHED = ".unfinished"
"""The folder within a target folder where files are written before they get their names."""


def run_name(cluster: str, job_id: int, attempt: int, revision: int, ended_at: datetime) -> str:
    """The name of one judgement of one run; `revision` counts the judgements.

    >>> from datetime import UTC
    >>> run_name("lumi", 123456, 0, 2, datetime(2026, 11, 20, 12, 30, tzinfo=UTC))
    '2026-11-20/lumi/123456-0-r2.json'
    """
    return f"{ended_at:%Y-%m-%d}/{_plain(cluster)}/{job_id}-{attempt}-r{revision}.json"


def part_name(batch: int, opened_at: datetime, ending: str) -> str:
    """The name of the rows of one batch. The time keeps it unique if a restored database counts its batches again.

    >>> from datetime import UTC
    >>> part_name(17, datetime(2026, 11, 20, 12, 30, 5, tzinfo=UTC), "parquet")
    '2026-11-20/runs-20261120T123005Z-000017.parquet'
    """
    return f"{opened_at:%Y-%m-%d}/runs-{opened_at:%Y%m%dT%H%M%SZ}-{batch:06d}.{ending}"


def _plain(cluster: str) -> str:
    """The name of a cluster as one part of a path.

    >>> _plain("lumi"), _plain("..")
    ('lumi', '%2E%2E')
    """
    quoted = quote(cluster, safe="")
    return quoted.replace(".", "%2E") if quoted.startswith(".") else quoted
