"""The one server of an embedded portal: pages and ingest from one process, on SQLite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.payloads import summary
from tests.portal.served import SUMMARIES, embedded_environment, manage, serving


def test_an_embedded_portal_serves_both_from_one_process(tmp_path: Path) -> None:
    environment = embedded_environment(tmp_path)
    with serving(environment) as nobodys:
        server = nobodys.with_token(manage(environment, "create_token", "nodes", "--cluster", "lumi"))
        with ThreadPoolExecutor(16) as pool:
            told = list(pool.map(lambda job_id: server.post(SUMMARIES, summary(job_id=job_id)).status, range(1, 51)))
        assert told == [201] * 50
        assert len(server.workers()) == 1
        assert b"Sign in" in server.ask("/sign-in/").body
        assert server.post(SUMMARIES, summary(job_id=1)).json()["duplicate"] == 1
