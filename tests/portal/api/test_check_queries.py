"""How many queries the waits of a check cost: ranges are read once, starts once for each partition."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.queue_waits.rule import STARTS_MAX
from analysis.queue_waits.services import keep_ranges
from tests.analysis.queue_waits.test_stored import store_runs
from tests.portal.api.test_check import checked

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def test_waits_of_all_partitions_are_read_together(cast) -> None:
    now = timezone.now()
    for partition in ("small-g", "standard-g"):
        store_runs(now, wait=timedelta(hours=5), partition=partition, gpus_requested=8, walltime_requested_s=86_400.0)
    assert keep_ranges(now) >= 2
    options = {"--partition": "small-g", "--nodes": "1", "--gpus-per-node": "8", "--time": "1-00:00:00"}
    alice = cast("alice")
    with CaptureQueriesContext(connection) as captured:
        (one,) = checked(alice, {"job_name": "train", "options": options}, elsewhere=True)["components"]
    assert {each["partition"]: bool(each["wait"]) for each in one["partitions"]} == {
        **{"standard-g": True, "small-g": True, "dev-g": False},
    }
    sent = [each["sql"] for each in captured]
    assert sum("analysis_waitrange" in sql for sql in sent) == 1
    assert sum(f"LIMIT {STARTS_MAX}" in sql for sql in sent) == 2
