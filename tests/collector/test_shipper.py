"""Shipping against real servers: what is acknowledged goes, what is refused is set aside, everything else stays."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from collector import shipper, spool
from collector.config import Config
from collector.shipper import ShipError, read_token, ship
from tests.collector.answers import Answers, counted, serving, shipping_config
from tests.parts import need
from tests.processes import patience

NOW, SOON = 0.0, 60.0


@pytest.fixture
def portal() -> Iterator[Callable[..., Answers]]:
    """Start a portal with these answers; all of them end with the test."""
    with ExitStack() as started:

        def start(*answers: tuple, tls: ssl.SSLContext | None = None, kind: type[Answers] = Answers) -> Answers:
            made = kind(*answers)
            if tls:
                made.server.socket = tls.wrap_socket(made.server.socket, server_side=True)
                made.server.handle_error = lambda *args: None
            return started.enter_context(serving(made))

        yield start


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return shipping_config(tmp_path)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the shipper meant to sleep, without the sleep and with the longest that the dice may give."""
    slept: list[float] = []
    monkeypatch.setattr(shipper.time, "sleep", slept.append)
    monkeypatch.setattr(shipper.random, "uniform", lambda low, high: high)
    return slept


def store(config: Config, name: str, kind: str = spool.SUMMARY, content: bytes | None = None) -> None:
    spool.put(config.spool_dir, kind, name, json.dumps({"name": name}).encode() if content is None else content, 1e6)


def left(config: Config) -> list[str]:
    return [entry.name.rpartition("-")[2].removesuffix(".json") for entry in spool.entries(config.spool_dir)]


def set_aside(config: Config) -> dict[str, str]:
    """The reason by the name of each entry that was set aside."""
    folder = Path(config.spool_dir) / spool.SET_ASIDE
    files = folder.glob("*.reason") if folder.exists() else ()
    return {file.name.removesuffix(".json.reason").rpartition("-")[2]: file.read_text() for file in files}


def shipped(config: Config, made: Answers | str, seconds: float = NOW) -> tuple[int, str]:
    config.portal_url = made if isinstance(made, str) else f"http://{made.address}"
    return ship(config, time.monotonic() + seconds)


@pytest.mark.parametrize(("status", "answer"), [(201, counted(1)), (200, counted(0, 1))])
def test_what_the_portal_counts_as_new_or_known_is_forgotten(config: Config, portal, status, answer) -> None:
    made = portal((status, answer))
    store(config, "one")
    assert shipped(config, made, SOON) == (1, "")
    assert left(config) == []
    assert os.listdir(config.spool_dir) == []


def test_each_kind_goes_to_its_own_address_with_the_token_and_compressed(config: Config, portal) -> None:
    made = portal((201, counted()))
    store(config, "r", spool.RECORD)
    store(config, "s")
    config.portal_url = f"http://{made.address}/kaiku/"
    assert ship(config, time.monotonic() + SOON) == (2, "")
    assert [(path, document) for path, _, document in made.requests] == [
        ("/kaiku/api/v1/ingest/node-summaries", {"name": "s"}),
        ("/kaiku/api/v1/ingest/job-records", {"name": "r"}),
    ]
    headers = made.requests[0][1]
    assert (headers["Authorization"], headers["Content-Encoding"]) == ("Bearer secret", "gzip")


@pytest.mark.parametrize("status", [301, 401, 403, 404, 408, 429, 500, 502, 503])
def test_what_cannot_be_taken_now_stays_and_goes_after_recovery(config: Config, portal, pauses, status: int) -> None:
    made = portal((status, b"{}"), (status, b"{}"), (201, counted()))
    store(config, "one")
    assert shipped(config, made) == (0, f"the portal answered {status}")
    assert left(config) == ["one"]
    assert shipped(config, made, SOON) == (1, "")
    assert left(config) == []
    assert set_aside(config) == {}


def test_pauses_double_up_to_a_minute_and_stop_at_the_time_limit(config: Config, portal, pauses) -> None:
    made = portal(*[(503, b"")] * 8, (201, counted()))
    store(config, "one")
    assert shipped(config, made, 3600) == (1, "")
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    store(config, "two")
    made.answers[-1] = (503, b"", {})
    # The first pause would end after the limit: the shipper leaves at once.
    assert shipped(config, made, 1.5) == (0, "the portal answered 503")


def test_the_dice_keep_nodes_apart(config: Config, portal, monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(shipper.time, "sleep", slept.append)
    made = portal(*[(503, b"")] * 20, (201, counted()))
    store(config, "one")
    assert shipped(config, made, 1e5) == (1, "")
    # Full jitter: from the seventh pause on anything up to a minute, so that nodes that failed together part at once.
    assert len(slept) == 20
    assert all(0 <= pause <= 60 for pause in slept[6:])
    assert min(slept[6:]) < 30 < max(slept[6:])


@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_is_never_shorter_than_the_portal_asks_for(config: Config, portal, monkeypatch, status: int) -> None:
    slept: list[float] = []
    monkeypatch.setattr(shipper.time, "sleep", slept.append)
    made = portal(*[(status, b"", {"Retry-After": "30"})] * 5, (201, counted()))
    store(config, "one")
    assert shipped(config, made, 3600) == (1, "")
    assert len(slept) == 5
    # Those that were all told the same do not come back at the same moment.
    assert all(30 <= pause <= 90 for pause in slept)
    assert len({round(pause, 1) for pause in slept}) > 1


@pytest.mark.parametrize("asked", ["", "soon", "-5", "Fri, 31 Dec 1999 23:59:59 GMT", "\xb2"])
def test_an_odd_wish_for_a_pause_is_left_alone(config: Config, portal, pauses, asked: str) -> None:
    made = portal((503, b"", {"Retry-After": asked}), (201, counted()))
    store(config, "one")
    assert shipped(config, made, SOON) == (1, "")
    assert pauses == [2.0]


def test_a_pause_beyond_the_time_limit_is_left_to_the_next_shipper(config: Config, portal) -> None:
    made = portal((503, b"", {"Retry-After": "9" * 400}))
    store(config, "one")
    assert shipped(config, made, SOON) == (0, "the portal answered 503")
    assert left(config) == ["one"]


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_is_never_taken_is_set_aside_with_the_reason_and_the_rest_goes(config: Config, portal, status) -> None:
    made = portal((status, b'{"detail": "gpus[0].avg_util"}'), (201, counted()))
    for name in ("bad", "good", "better"):
        store(config, name)
    assert shipped(config, made, SOON) == (2, "")
    assert left(config) == []
    assert set_aside(config) == {"bad": f'{status}: {{"detail": "gpus[0].avg_util"}}'}


def test_a_rejected_entry_in_an_answer_of_success_is_set_aside(config: Config, portal) -> None:
    rejected = [{"index": 0, "errors": [{"path": "job_id", "message": "is too large"}]}]
    made = portal((200, counted(0, 0, rejected)), (201, counted()))
    store(config, "bad")
    store(config, "good")
    assert shipped(config, made, SOON) == (1, "")
    assert json.loads(set_aside(config)["bad"]) == rejected


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>Maintenance</html>",
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        counted(0, 0),
        counted(7),
        b'{"accepted": "1", "duplicate": "", "rejected": []}',
        b'{"accepted": 1, "duplicate": 0}',
    ],
)
def test_an_answer_of_success_that_makes_no_sense_keeps_the_entry(config: Config, portal, answer: bytes) -> None:
    made = portal((200, answer))
    store(config, "one")
    sent, reason = shipped(config, made)
    assert (sent, left(config)) == (0, ["one"])
    assert reason in ("the portal's answer is invalid", "the portal did not count the entry")


class FailsOnOne(Answers):
    """A portal with a fault that one payload brings out."""

    def answer_to(self, document: object) -> tuple[int, bytes, dict]:
        return (500, b"", {}) if document == {"name": "poison"} else (201, counted(), {})


def test_an_entry_that_the_portal_fails_on_does_not_hold_up_the_others(config: Config, portal, pauses) -> None:
    for name in ("poison", "a", "b"):
        store(config, name)
    made = portal((500,), kind=FailsOnOne)
    assert shipped(config, made, 3.0) == (2, "the portal answered 500")
    assert left(config) == ["poison"]


def answering(config: Config, behaviour: Callable[[socket.socket], None]) -> tuple[int, str, float]:
    """What comes of one try at a server that does this with its first connection, and how long it took."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection = server.accept()[0]
            with connection:
                try:
                    behaviour(connection)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        start = time.monotonic()
        outcome = shipped(config, f"http://127.0.0.1:{server.getsockname()[1]}")
        took_s = time.monotonic() - start
        thread.join()
    return *outcome, took_s


def test_a_server_that_drips_is_given_up_in_time(config: Config) -> None:
    config.request_max_s = 1.5
    store(config, "one")

    def drip(connection: socket.socket) -> None:
        for byte in b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n" * 20:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)

    sent, reason, took_s = answering(config, drip)
    assert (sent, left(config)) == (0, ["one"])
    assert reason == "TimeoutError: no complete answer in time"
    assert 1.4 <= took_s < patience(10)


def test_a_server_that_says_nothing_hangs_up_or_talks_nonsense_keeps_the_entry(config: Config) -> None:
    config.request_max_s = 1.0
    store(config, "one")
    behaviours = (
        lambda connection: time.sleep(1.5),
        lambda connection: None,
        lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"),
        lambda connection: connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"),
    )
    for behaviour in behaviours:
        sent, reason, took_s = answering(config, behaviour)
        assert (sent, left(config)) == (0, ["one"])
        assert ": " in reason
        assert took_s < patience(10)


def test_nothing_listening_keeps_the_entry(config: Config) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    store(config, "one")
    sent, reason = shipped(config, f"http://127.0.0.1:{port}")
    assert (sent, left(config)) == (0, ["one"])
    assert reason.startswith("ConnectionRefusedError")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A self-signed certificate of 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = (str(folder / "cert.pem"), str(folder / "key.pem"))
    need("openssl")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kaiku-test"
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]]
    subprocess.run([*command.split(), *extra], check=True, capture_output=True)
    return files


def test_a_portal_is_trusted_by_its_certificate_only(config: Config, portal, certificate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    made = portal((201, counted()), tls=context)
    store(config, "one")
    config.portal_url = f"https://{made.address}"
    sent, reason = ship(config, time.monotonic())
    assert (sent, left(config), made.requests) == (0, ["one"], [])
    assert "CERTIFICATE_VERIFY_FAILED" in reason
    config.ca_file = certificate[0]
    assert ship(config, time.monotonic() + SOON) == (1, "")
    assert left(config) == []


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"secret\n", 0o644, "can be read by others: chmod 600"),
        (b"secret\n", 0o640, "can be read by others"),
        (b"", 0o600, "does not contain exactly one token"),
        (b" \n", 0o600, "does not contain exactly one token"),
        (b"secret\nX-Other: header", 0o600, "does not contain exactly one token"),
        (b"\xff\xfe", 0o600, "can't decode"),
        (None, 0, "No such file"),
    ],
)
def test_a_token_is_one_word_in_a_file_of_its_owner(config: Config, content: bytes | None, mode: int, why: str) -> None:
    token = Path(config.token_file)
    token.unlink()
    if content is not None:
        token.write_bytes(content)
        token.chmod(mode)
    with pytest.raises(ShipError, match=why) as caught:
        read_token(config.token_file)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://kaiku.example.org", "must be https"),
        ("http://127.0.0.1.example.org", "must be https"),
        ("http://10.0.0.1:8000", "must be https"),
        ("", "not set to an https address"),
        ("kaiku.example.org", "not set to an https address"),
        ("ftp://kaiku.example.org", "not set to an https address"),
        ("https://kaiku.example.org:port", "portal_url: "),
        ("https://[kaiku", "portal_url: "),
    ],
)
def test_a_token_never_goes_where_it_could_be_read(config: Config, url: str, why: str) -> None:
    store(config, "one")
    with pytest.raises(ShipError, match=why):
        shipped(config, url)
    assert left(config) == ["one"]


def test_a_certificate_file_that_is_not_there_is_said(config: Config, tmp_path: Path) -> None:
    for name in ("nowhere.pem", "token"):
        config.ca_file = str(tmp_path / name)
        with pytest.raises(ShipError, match=name):
            shipped(config, "https://kaiku.example.org")


def test_what_is_broken_on_disk_is_set_aside_and_never_sent(config: Config, portal) -> None:
    made = portal((201, counted()))
    broken = {"cut": b'{"schema": "node-su', "empty": b"", "binary": b"\xff\x00", "deep": b"[" * 100_000}
    for name, content in broken.items():
        store(config, name, content=content)
    store(config, "stranger", kind="samples")
    (Path(config.spool_dir) / "summary-0-folder.json").mkdir()
    (Path(config.spool_dir) / "summary-1-half.json.123.new").write_text("{")
    store(config, "good")
    assert shipped(config, made, SOON) == (1, "")
    assert [document for _, _, document in made.requests] == [{"name": "good"}]
    reasons = set_aside(config)
    assert reasons.keys() == {*broken, "stranger", "folder"}
    assert reasons["cut"].startswith("incomplete on disk: ")
    assert left(config) == []


def test_an_empty_spool_needs_no_portal(config: Config) -> None:
    assert shipped(config, "http://127.0.0.1:1") == (0, "")


def test_an_entry_that_another_process_took_is_no_error(config: Config, portal) -> None:
    made = portal((201, counted()))
    store(config, "one")
    config.portal_url = f"http://{made.address}"
    entry = next(spool.entries(config.spool_dir))
    os.unlink(entry.path)
    opened = shipper.Portal(config)
    assert shipper._send_one(opened, config.spool_dir, entry) == 0
    opened.connection.close()
    assert made.requests == []
