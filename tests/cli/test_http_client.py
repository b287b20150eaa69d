"""Calls to the portal: what is understood, and servers that are slow, endless, wrong or not who they say they are."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from cli import http_answer, http_client
from cli.address import Address, proxy_for, quoted
from cli.errors import NoAnswer, NoSignIn, NotFound, Usage
from cli.http_client import Portal
from tests.cli.servers import NEXT, answering, plain, trickle
from tests.parts import need
from tests.processes import patience

OK = plain(b'{"a": 1}')
PACKED = gzip.compress(b'{"a": 1}', mtime=0)


def portal(port: int) -> closing[Portal]:
    return closing(Portal(Address(f"http://127.0.0.1:{port}/kaiku"), token="kaiku_pat_x"))


def get(port: int, timeout_s: float = 5.0) -> object:
    with portal(port) as asked:
        return asked.call("GET", "/x", timeout_s=timeout_s).checked().json()


def test_a_call_sends_what_it_should() -> None:
    with answering([OK]) as (port, requests), portal(port) as asked:
        asked.call("POST", "/check", timeout_s=5, query={"n": "ä b", "none": None}, document={"x": "ä"})
    head, _, body = requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /kaiku/check?n=%C3%A4%20b HTTP/1.1"
    assert {f"Host: 127.0.0.1:{port}", "Authorization: Bearer kaiku_pat_x", "Content-Length: 15"} <= set(lines)
    assert body == b'{"x": "\\u00e4"}'


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\nContent-Length:8\n\n" + b'{"a": 1}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n5;x=y\r\n": 1}\r\n0\r\nTrailer: x\r\n\r\n',
        b'HTTP/1.0 200 OK\r\n\r\n{"a": 1}',
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
        plain(PACKED, more="Content-Encoding: gzip\r\n"),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + PACKED,
    ],
)
def test_answers_that_are_understood(answer: bytes) -> None:
    with answering([answer]) as (port, _):
        assert get(port) == {"a": 1}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 70_000,
        plain(PACKED[:-4], more="Content-Encoding: gzip\r\n"),
        plain(b"garbage", more="Content-Encoding: gzip\r\n"),
        plain(b"x", more="Content-Encoding: br\r\n"),
        plain(b"<html>", more="Content-Type: text/html\r\n"),
        plain(b"[" * 200_000),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
        b"x" * 200_000,
    ],
    ids=lambda answer: repr(answer[:40]),
)
def test_garbage_is_no_answer(answer: bytes) -> None:
    with answering([answer]) as (port, _), pytest.raises(NoAnswer):
        get(port)


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_endless_answer_ends(monkeypatch: pytest.MonkeyPatch, is_packed: bool) -> None:
    monkeypatch.setattr(http_answer, "ANSWER_BYTES_MAX", 1 << 20)
    # A gigabyte of zeros would unpack from one megabyte: 8 MiB are enough to pass the limit here.
    body = gzip.compress(bytes(8 << 20)) if is_packed else bytes(2 << 20)
    head = "Content-Encoding: gzip\r\n" if is_packed else ""
    with answering([plain(body, more=head)]) as (port, _), pytest.raises(NoAnswer, match="larger than 1 MiB"):
        get(port)


@pytest.mark.parametrize(
    "parts",
    [
        [3.0],
        trickle(OK, 0.1),
        [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", *trickle(b"x" * 40, 0.1)],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *trickle(b"1\r\nx\r\n" * 10, 0.1)],
        [b"HTTP/1.1 100 Continue\r\n\r\n", *trickle(b"HTTP/1.1 100 Continue\r\n\r\n" * 3, 0.05)],
    ],
)
def test_a_call_never_takes_longer_than_its_time(parts: list) -> None:
    with answering(parts) as (port, _):
        began = time.monotonic()
        with pytest.raises(NoAnswer, match="no complete answer in time"):
            get(port, timeout_s=0.5)
        assert 0.4 < time.monotonic() - began < patience(1.5)


def test_neither_does_the_look_up_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: time.sleep(3))
    began = time.monotonic()
    with pytest.raises(NoAnswer):
        Portal(Address("https://kaiku.example")).call("GET", "/", timeout_s=0.3)
    assert time.monotonic() - began < patience(1.5)


def test_nor_a_server_that_takes_nothing_and_one_that_does_not_exist() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        portal(deaf.getsockname()[1]) as asked,
        pytest.raises(NoAnswer),
    ):
        asked.call("POST", "/", timeout_s=0.5, document={"x": "y" * (8 << 20)})
    with pytest.raises(NoAnswer, match="refused"):
        get(1)


def test_one_connection_is_kept_and_opened_again_when_the_server_ended_it() -> None:
    with answering([OK, NEXT, OK], [OK]) as (port, requests), portal(port) as kept:
        assert [kept.call("GET", f"/{number}", timeout_s=5).status for number in range(3)] == [200, 200, 200]
    assert [request.split(b" ")[1] for request in requests] == [b"/kaiku/0", b"/kaiku/1", b"/kaiku/2"]


def test_only_reading_is_repeated() -> None:
    with answering([OK], [OK]) as (port, _), portal(port) as kept:
        kept.call("GET", "/", timeout_s=5)
        time.sleep(0.1)
        with pytest.raises(NoAnswer):
            kept.call("POST", "/", timeout_s=5)


@pytest.mark.parametrize(
    ("status", "kind", "exit_status"),
    [
        ("404 Not Found", NotFound, 1),
        ("400 Bad Request", Usage, 2),
        ("401 Unauthorized", NoSignIn, 3),
        ("403 Forbidden", NoSignIn, 3),
        ("429 Too Many Requests", NoAnswer, 4),
        ("503 Service Unavailable", NoAnswer, 4),
        ("302 Found", NoAnswer, 4),
    ],
)
def test_each_status_has_its_kind_of_error(status: str, kind: type, exit_status: int) -> None:
    with answering([plain(b'{"detail": "because"}', status)]) as (port, _), pytest.raises(kind) as raised:
        get(port)
    assert raised.value.status == exit_status


def test_a_page_that_is_not_there_is_no_job_that_is_not_there() -> None:
    with answering([plain(b"<!DOCTYPE html>", "404 Not Found")]) as (port, _), pytest.raises(NoAnswer, match="address"):
        get(port)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    need("openssl")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    files = str(folder / "key.pem"), str(folder / "cert.pem")
    names = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[0], "-out", files[1])
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return files[1], files[0]


def tls(certificate: tuple[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_a_certificate_is_checked_and_its_name(certificate: tuple[str, str], tmp_path: Path) -> None:
    def call(host: str, port: int, ca_file: str) -> int:
        with closing(Portal(Address(f"https://{host}:{port}"), ca_file=ca_file)) as asked:
            return asked.call("GET", "/", timeout_s=5).status

    with answering([OK], [OK], [OK], context=tls(certificate)) as (port, _):
        assert call("127.0.0.1", port, certificate[0]) == 200
        with pytest.raises(NoAnswer, match="its certificate is not valid"):
            call("127.0.0.1", port, "")
        with pytest.raises(NoAnswer, match="its certificate is not valid"):
            call("localhost", port, certificate[0])
        with pytest.raises(Usage, match="certificates in"):
            call("127.0.0.1", port, str(tmp_path / "none.pem"))


def test_a_handshake_that_never_ends_does() -> None:
    with answering([3.0]) as (port, _), pytest.raises(NoAnswer, match="in time"):
        Portal(Address(f"https://127.0.0.1:{port}")).call("GET", "/", timeout_s=0.4)


def test_a_proxy_is_told_where_to_and_nothing_else() -> None:
    with answering([b"HTTP/1.1 403 Forbidden\r\n\r\n"]) as (port, requests):
        through = Portal(Address("https://kaiku.example"), token="kaiku_pat_x", proxy=("127.0.0.1", port))
        with pytest.raises(NoAnswer, match="the proxy answered 403"):
            through.call("GET", "/", timeout_s=5)
    assert requests == [b"CONNECT kaiku.example:443 HTTP/1.1\r\nHost: kaiku.example:443\r\n\r\n"]


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"https_proxy": "http://p:8080"}, ("p", 8080)),
        ({"HTTPS_PROXY": "p"}, ("p", 3128)),
        ({"https_proxy": "http://p", "no_proxy": "localhost,.example"}, None),
        ({"https_proxy": "http://p", "no_proxy": "ample"}, ("p", 3128)),
        ({"https_proxy": "http://p", "NO_PROXY": "*"}, None),
    ],
)
def test_which_proxy_the_environment_names(environ: dict[str, str], proxy: tuple | None) -> None:
    assert proxy_for(Address("https://kaiku.example"), environ) == proxy


def test_parts_of_a_path_are_quoted() -> None:
    assert quoted("../a?b#ä") == "..%2Fa%3Fb%23%C3%A4"


def test_nothing_large_is_imported() -> None:
    assert not {"http.client", "urllib", "argparse", "dataclasses", "typing"} & set(vars(http_client))
