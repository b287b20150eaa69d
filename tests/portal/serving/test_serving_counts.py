"""Numbers of a server of several processes: one sum, whichever of them is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.models import Process
from jobs.tallies.selectors import tallies
from tests.payloads import summary
from tests.portal.served import SUMMARIES, database_environment, serving
from tests.processes import PATIENCE_S, wait_until
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db(transaction=True)

CLUSTER = "counted"
"""A server of another test may still write down, at its end, what it counted for its own."""


def counted() -> float:
    return tallies().get("kaiku_node_summaries", {}).get((CLUSTER,), 0)


def test_what_several_processes_answer_is_counted_together_and_to_the_end(tmp_path: Path) -> None:
    token = create_collector_token("nodes", CLUSTER)
    with serving(database_environment(tmp_path), "--workers", "2") as nobodys:
        server = nobodys.with_token(token)

        def send(job_id: int) -> int:
            # Each on a connection of its own: whichever process is free takes it.
            return server.post(SUMMARIES, summary(cluster=CLUSTER, job_id=job_id, errors=["no GPU"])).status

        with ThreadPoolExecutor(8) as senders:
            assert set(senders.map(send, range(1, 41))) == {201}
        wait_until("the counts", lambda: counted() == 40)
        wait_until("both processes", lambda: Process.objects.filter(kind="portal", waiting_records=0).count() >= 2)
        lines = server.ask("/metrics").body.decode().splitlines()
        assert f'kaiku_collector_failures_total{{cluster="{CLUSTER}",reason="no GPU"}} 40.0' in lines
        assert send(41) == 201
        server.process.terminate()
        server.process.wait(PATIENCE_S)
    # What was counted in the last seconds is written down before the end.
    assert counted() == 41
