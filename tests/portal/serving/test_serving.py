"""The real server: what it acknowledges is stored, and neither slow senders nor a slow table hold up anybody else."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from jobs.models import Job, Token
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from tests.payloads import node_payload, record, summary
from tests.portal.served import RECORDS, SUMMARIES, Server, answers, database_environment, serving
from tests.processes import PATIENCE_S, is_alive, wait_until
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db(transaction=True)

HALF_SENT = 200


@pytest.fixture(scope="module")
def running(django_db_setup, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Portal and ingest in one process on PostgreSQL, which takes some seconds to begin."""
    with serving(database_environment(tmp_path_factory.mktemp("served")), "--workers", "1") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The same for every test, with a token of its own."""
    return running.with_token(create_collector_token("nodes", "lumi"))


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """One that the test may kill."""
    with serving(database_environment(tmp_path), "--workers", "1") as server:
        yield server.with_token(create_collector_token("nodes", "lumi"))


@contextmanager
def held(statement: str) -> Iterator[None]:
    """Another transaction that holds what this statement locks."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute(statement)
        yield
        other.rollback()


def test_what_is_acknowledged_is_stored_once_and_what_is_refused_is_named(server: Server) -> None:
    first, again = server.post(SUMMARIES, summary()), server.post(SUMMARIES, summary())
    assert (first.status, first.json()) == (201, {"accepted": 1, "duplicate": 0, "rejected": []})
    assert (again.status, again.json()["duplicate"]) == (200, 1)
    mixed = server.post(RECORDS, [record(), record(job_id="x"), record(job_id=2)])
    assert (mixed.status, mixed.json()["accepted"]) == (201, 2)
    assert [each["index"] for each in mixed.json()["rejected"]] == [1]
    refused = server.post(SUMMARIES, summary(cluster="mahti"))
    assert (refused.status, refused.headers["content-type"]) == (422, "application/problem+json")
    assert refused.json()["errors"] == [{"path": "cluster", "message": "this token is valid for lumi only"}]
    assert (NodeSummary.objects.count(), Job.objects.count()) == (1, 2)


def test_the_doors_of_both_servers_say_the_same(server: Server, client) -> None:
    for path, method, token, body in (
        (SUMMARIES, "GET", server.token, b""),
        (SUMMARIES, "POST", "wrong", b"{}"),
        (SUMMARIES, "POST", server.token, b""),
        (SUMMARIES, "POST", server.token, b"{"),
        (RECORDS, "POST", server.token, b"[]"),
        (RECORDS, "POST", server.token, b'{"schema": "node-summary/1"}'),
        (f"{SUMMARIES}/", "POST", server.token, b"{}"),
        (SUMMARIES, "POST", server.token, b" " * (9 * 2**20)),
    ):
        headers = {"Authorization": f"Bearer {token}"}
        asked = server.ask(path, method, body, **headers, **{"Content-Type": "application/json"})
        plain = client.generic(method, path, body, content_type="application/json", headers=headers)
        assert (asked.status, asked.body) == (plain.status_code, plain.content), path
        assert asked.headers["content-type"] == plain["Content-Type"]
        for name in ("WWW-Authenticate", "Allow", "Retry-After"):
            assert asked.headers.get(name.lower()) == plain.get(name), (path, name)


def test_senders_at_once_are_each_told_of_their_own_records(server: Server) -> None:
    def send(job_id: int) -> tuple[int, list[int]]:
        answer = server.post(SUMMARIES, [summary(job_id=job_id), summary(job_id=job_id, node=""), summary(job_id=7)])
        said = answer.json()
        return said["accepted"] + said["duplicate"], [each["index"] for each in said["rejected"]]

    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(send, range(100, 164)))
    assert told == [(2, [1])] * 64
    assert NodeSummary.objects.count() == 65


def test_requests_that_are_never_sent_whole_hold_up_nobody(server: Server) -> None:
    head = f"POST {SUMMARIES} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
    body = f"{head}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{{"
    page = "POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\nusername="
    with ExitStack() as open_still:
        for text in (head, body, page):
            for _ in range(HALF_SENT):
                open_still.callback(server.half_sent(text.encode()).close)
        assert server.post(SUMMARIES, summary()).status == 201
        assert server.ask("/healthz").status == server.ask("/readyz").status == 200
        assert b"Sign in" in server.ask("/sign-in/").body


def test_a_head_that_does_not_come_is_given_up(server: Server) -> None:
    with server.half_sent(f"POST {SUMMARIES} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()) as started:
        assert started.recv(100) == b""


def test_a_locked_table_costs_the_ingest_alone_and_only_while_it_lasts(server: Server) -> None:
    assert server.post(SUMMARIES, summary()).status == 201
    with held("LOCK TABLE metrics_nodesummary IN ACCESS EXCLUSIVE MODE"):
        with ThreadPoolExecutor(20) as pool:
            told = list(pool.map(lambda job_id: server.post(SUMMARIES, summary(job_id=job_id)), range(1, 21)))
        assert {answer.status for answer in told} == {503}
        assert {answer.headers["content-type"] for answer in told} == {"application/problem+json"}
        assert all(int(answer.headers["retry-after"]) > 0 for answer in told)
        assert server.ask("/healthz").status == server.ask("/readyz").status == 200
        assert server.ask("/sign-in/").status == 200
        assert b'kaiku_trouble{trouble="database busy"} 0.0' in server.ask("/metrics").body
    wait_until("the table is free", lambda: server.post(SUMMARIES, summary(job_id=1)).status in (200, 201))
    assert {server.post(SUMMARIES, summary(job_id=job_id)).status for job_id in range(2, 21)} <= {200, 201}
    assert NodeSummary.objects.count() == 21


def test_numbers_that_cannot_be_read_in_time_are_left_out_and_the_others_are_there(server: Server) -> None:
    with held("LOCK TABLE jobs_directoryimport IN ACCESS EXCLUSIVE MODE"):
        numbers = server.ask("/metrics")
        assert numbers.status == 200
        assert b'kaiku_due{kind="judgement"} 0.0' in numbers.body
        assert b'kaiku_trouble{trouble="database busy"} 1.0' in numbers.body
        assert b"kaiku_database_bytes" not in numbers.body


def test_one_locked_row_stops_no_other(server: Server) -> None:
    record_node_summary(node_payload(sequence=1))
    with held("SELECT 1 FROM metrics_nodesummary FOR UPDATE"), ThreadPoolExecutor(8) as pool:
        documents = [summary(sequence=2), *(summary(job_id=job_id) for job_id in range(1, 8))]
        told = list(pool.map(lambda document: server.post(SUMMARIES, document).status, documents))
    assert told == [503] + [201] * 7
    assert server.post(SUMMARIES, summary(sequence=2)).status == 201


def test_a_revoked_token_opens_nothing_after_some_seconds(server: Server) -> None:
    assert server.post(SUMMARIES, summary()).status == 201
    Token.objects.update(revoked_at=timezone.now())
    wait_until("refused", lambda: server.post(SUMMARIES, summary()).status == 401)


def test_after_the_end_of_its_master_nothing_is_left_and_the_next_one_serves(own_server: Server, tmp_path) -> None:
    workers = own_server.workers()
    os.kill(own_server.process.pid, signal.SIGKILL)
    own_server.process.wait()
    assert workers
    wait_until("they end", lambda: not any(is_alive(pid) for pid in workers))
    assert not answers(own_server.port)
    with serving(database_environment(tmp_path), "--workers", "1", port=own_server.port) as again:
        assert again.with_token(own_server.token).post(SUMMARIES, summary()).status == 201


def test_a_killed_worker_is_replaced_and_nothing_acknowledged_is_lost(own_server: Server) -> None:
    stored = acknowledged_until(own_server, lambda: os.kill(own_server.workers()[0], signal.SIGKILL))
    wait_until("it answers", lambda: answers(own_server.port))
    assert own_server.post(SUMMARIES, summary(job_id=9999)).status == 201
    assert stored <= set(NodeSummary.objects.values_list("job_id", flat=True))


def test_a_server_that_is_asked_to_end_stores_what_it_has_acknowledged(own_server: Server) -> None:
    stored = acknowledged_until(own_server, own_server.process.terminate)
    own_server.process.wait(PATIENCE_S)
    assert stored <= set(NodeSummary.objects.values_list("job_id", flat=True))


def acknowledged_until(server: Server, end: Callable[[], None]) -> set[int]:
    """The jobs of which a summary was acknowledged while many were sent and `end` came amid them."""

    def send(job_id: int) -> int:
        if job_id == 60:
            end()
        try:
            return job_id if server.post(SUMMARIES, summary(job_id=job_id)).status == 201 else 0
        except OSError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        stored = set(pool.map(send, range(1, 121))) - {0}
    assert len(stored) >= 30
    return stored


def test_the_ingest_alone_takes_payloads_and_shows_no_page(tmp_path: Path) -> None:
    with serving(database_environment(tmp_path), "--ingest-only") as nobodys:
        server = nobodys.with_token(create_collector_token("nodes", "lumi"))
        assert server.post(SUMMARIES, summary()).status == 201
        assert (server.ask("/healthz").status, server.ask("/sign-in/").status) == (200, 404)
        ready, numbers = server.ask("/readyz"), server.ask("/metrics")
        assert (ready.status, ready.headers["content-type"]) == (200, "application/json")
        assert (ready.json()["status"], ready.json()["parts"]["migrations"]) == ("ok", "ok")
        assert (numbers.status, numbers.body.count(b"\n")) == (404, 1)
        assert b"page server" in numbers.body
        with held("LOCK TABLE metrics_nodesummary, jobs_token IN ACCESS EXCLUSIVE MODE"):
            assert server.ask("/readyz").status == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [("{}?options=-c%20default_transaction_read_only%3Don", "database read-only"), ("silent", "database unreachable")],
    ids=["read-only", "silent"],
)
def test_the_ingest_alone_says_that_it_cannot_do_its_work(tmp_path: Path, address: str, status: str) -> None:
    environment = database_environment(tmp_path)
    # One that takes connections and never says anything, as behind a network that drops what is sent.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"postgres://kaiku@127.0.0.1:{silent.getsockname()[1]}/kaiku"
        environment["DATABASE_URL"] = at if address == "silent" else address.format(environment["DATABASE_URL"])
        with serving(environment, "--ingest-only") as server:
            for _ in range(2):
                answer = server.ask("/readyz")
                assert (answer.status, answer.json()["status"]) == (503, status)
            assert server.ask("/healthz").status == 200
