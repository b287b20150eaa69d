"""Storing raw windows: one for each node and run, a later one in its place, and none for longer than its time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.expiry.services import BATCH_ROWS, remove_raw_windows
from metrics.models import RawWindow
from metrics.selectors import raw_bytes_kept, raw_windows, raw_windows_held, raw_windows_since
from metrics.services import record_raw_window
from tests.payloads import raw_payload
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.django_db

KEY = ("lumi", 123456, 0)
OTHER = {"gpu_id": 1, "util": [5.0, 6.0, 7.0], "mem_gb": [1.0, 2.0, 3.0]}


def test_a_window_comes_back_as_it_was_measured(now: datetime) -> None:
    first = {"gpu_id": 0, "util": [93, 94.5, None], "mem_gb": [9.81, 9.81, None]}
    assert record_raw_window(raw_payload(first, OTHER), now)
    (window,) = raw_windows(KEY)
    assert (window.node, window.gpu_ids, window.at_s.tolist()) == ("nid005123", [0, 1], [0.0, 0.61, 1.9])
    assert [str(value) for value in window.util[:, 0]] == ["93.0", "94.5", "nan"]
    assert [str(value) for value in window.mem_gb[:, 0]] == ["9.81", "9.81", "nan"]
    assert window.util[:, 1].tolist() == [5.0, 6.0, 7.0]


def test_the_same_window_again_is_known_and_is_kept_no_longer(now: datetime) -> None:
    assert record_raw_window(raw_payload(), now)
    assert not record_raw_window(raw_payload(), now + timedelta(days=1))
    assert RawWindow.objects.get().received_at == now


def test_a_later_window_replaces_the_one_of_its_node_and_an_earlier_one_does_not(now: datetime) -> None:
    record_raw_window(raw_payload(), now)
    later = raw_payload(OTHER, started_at="2026-11-20T12:00:00Z", ended_at="2026-11-20T12:10:00Z")
    assert record_raw_window(later, now + timedelta(minutes=10))
    assert not record_raw_window(raw_payload(), now + timedelta(minutes=11))
    (window,) = raw_windows(KEY)
    assert (window.gpu_ids, window.util[:, 0].tolist()) == ([1], [5.0, 6.0, 7.0])
    assert RawWindow.objects.get().received_at == now + timedelta(minutes=10)


def test_another_measurement_of_the_same_window_replaces_it(now: datetime) -> None:
    record_raw_window(raw_payload(), now)
    assert record_raw_window(raw_payload(OTHER), now)
    assert next(iter(raw_windows(KEY))).gpu_ids == [1]


def test_nodes_attempts_jobs_and_clusters_have_windows_of_their_own(now: datetime) -> None:
    for changes in ({}, {"node": "nid005122"}, {"attempt": 1}, {"job_id": 7}, {"cluster": "mahti"}):
        assert record_raw_window(raw_payload(**changes), now)
    assert [window.node for window in raw_windows(KEY)] == ["nid005122", "nid005123"]


def test_what_is_held_of_a_run_is_the_longest_window_and_the_first_that_came(now: datetime) -> None:
    assert raw_windows_held(KEY) is None
    record_raw_window(raw_payload(), now)
    record_raw_window(raw_payload(node="nid005124", started_at="2026-11-20T11:45:00Z"), now + timedelta(hours=1))
    held = raw_windows_held(KEY)
    assert held is not None
    # 11:45 to 12:00 on the second node.
    assert (held.longest_s, held.received_at) == (900.0, now)


def test_what_arrived_lately_and_what_is_kept_are_counted(now: datetime) -> None:
    for number in range(3):
        record_raw_window(raw_payload(job_id=1 + number), now + timedelta(seconds=number * 40))
    # Of arrivals after 0, 40 and 80 s two lie within the last minute of second 90.
    assert raw_windows_since(now + timedelta(seconds=30)) == 2
    # Three ticks of 8 bytes, three samples of use and three of memory of 4 bytes each.
    assert raw_bytes_kept() == 3 * (3 * 8 + 3 * 4 + 3 * 4)


def test_windows_go_when_their_days_are_over(now: datetime) -> None:
    for job_id, age in ((1, timedelta(days=7, seconds=1)), (2, timedelta(days=7)), (3, timedelta(0))):
        record_raw_window(raw_payload(job_id=job_id), now - age)
    assert sum(remove_raw_windows(now - timedelta(days=7))) == 1
    assert sorted(RawWindow.objects.values_list("job_id", flat=True)) == [2, 3]


def test_they_go_in_batches(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metrics.expiry.services.BATCH_ROWS", 2)
    for job_id in range(1, 6):
        record_raw_window(raw_payload(job_id=job_id), now - timedelta(days=30))
    with CaptureQueriesContext(connection) as queries:
        assert [*remove_raw_windows(now - timedelta(days=7))] == [2, 2, 1]
    # Five rows by two: three statements that delete.
    assert sum("DELETE" in query["sql"] for query in queries) == 3
    assert not RawWindow.objects.exists()
    assert 100 <= BATCH_ROWS <= 500


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_senders_of_one_window_at_the_same_moment_leave_one(now: datetime) -> None:
    ready = Barrier(4)

    def send(_: int) -> bool:
        try:
            ready.wait(timeout=PATIENCE_S)
            return record_raw_window(raw_payload(), now)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, range(4))) == [False, False, False, True]
    assert RawWindow.objects.count() == 1
