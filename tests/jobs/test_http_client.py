"""Asking another server: one deadline for the whole call whatever the server does, and a cap on unpacked bytes."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import socket
import ssl
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jobs.http_client import CallFailed, HttpClient

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = 400
"""At ten a second: without a deadline the answer would come whole, after 40 s."""


class Server:
    """A server that answers each connection with what `say` writes on it."""

    def __init__(self, say: Callable[[Server, socket.socket], None], tls: ssl.SSLContext | None = None) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.listening.getsockname()[1]}/"
        self.say, self.tls, self.ended = say, tls, threading.Event()
        self.connections = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        try:
            with self.tls.wrap_socket(connection, server_side=True) if self.tls else connection as spoken:
                while b"\r\n\r\n" in spoken.recv(65536):
                    self.say(self, spoken)
        except OSError:
            return

    def drip(self, connection: socket.socket, what: bytes, count: int) -> None:
        for _ in range(count):
            connection.sendall(what)
            if self.ended.wait(0.1):
                return

    def stop(self) -> None:
        self.ended.set()
        self.listening.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(say: Callable[[Server, socket.socket], None], tls: ssl.SSLContext | None = None) -> Server:
        servers.append(Server(say, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def asked(server: Server, seconds: float = 30.0, bytes_max: int = 2**20) -> bytes:
    with HttpClient(seconds=seconds, bytes_max=bytes_max) as client:
        return client.answer(requests.Request("GET", server.url)).content


def in_the_body(server: Server, connection: socket.socket) -> None:
    connection.sendall(HEAD + f"Content-Length: {DRIPS}\r\n\r\n".encode())
    server.drip(connection, b"1", DRIPS)


def in_a_body_of_no_length(server: Server, connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    server.drip(connection, b"1", DRIPS)
    connection.shutdown(socket.SHUT_WR)


def in_the_head(server: Server, connection: socket.socket) -> None:
    connection.sendall(HEAD + b"X: ")
    server.drip(connection, b"1", DRIPS)
    connection.sendall(b"\r\nContent-Length: 0\r\n\r\n")


def in_small_chunks(server: Server, connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    server.drip(connection, b"1\r\n1\r\n", DRIPS)
    connection.sendall(b"0\r\n\r\n")


@pytest.mark.parametrize("say", [in_the_body, in_a_body_of_no_length, in_the_head, in_small_chunks])
def test_a_server_that_drips_is_cut_off_at_the_deadline(serve, say) -> None:
    with pytest.raises(CallFailed, match=r"no answer within 0\.4 s"):
        asked(serve(say), seconds=0.4)


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A certificate of 127.0.0.1 that this process trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_the_deadline_holds_within_tls_and_in_its_beginning(serve, certificate: ssl.SSLContext) -> None:
    whole = serve(lambda _, connection: connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}"), certificate)
    assert asked(whole) == b"{}"
    with pytest.raises(CallFailed, match=r"no answer within 0\.4 s"):
        asked(serve(in_the_body, certificate), seconds=0.4)
    plain = serve(in_the_head)
    plain.url = plain.url.replace("http:", "https:")
    with pytest.raises(CallFailed, match="no answer"):
        asked(plain, seconds=0.4)


def test_what_is_small_when_packed_and_large_when_unpacked_is_given_up(serve) -> None:
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(2**20)) for _ in range(300)) + packer.flush()
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    server = serve(lambda _, connection: connection.sendall(head + packed))
    tracemalloc.start()
    try:
        with pytest.raises(CallFailed, match="answered with more than 1048576 bytes"):
            asked(server)
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_an_answer_of_just_the_size_is_whole_and_a_connection_is_kept(serve) -> None:
    packed = gzip.compress(b"x" * 1000)
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n".encode()
    following = b'Link: <http://127.0.0.1/?page=2>; rel="next"\r\n\r\n'
    server = serve(lambda _, connection: connection.sendall(head + following + packed))
    with HttpClient(seconds=30, bytes_max=1000) as client:
        answers = [client.answer(requests.Request("GET", server.url)) for _ in range(3)]
    assert {(answer.content, answer.following) for answer in answers} == {(b"x" * 1000, "http://127.0.0.1/?page=2")}
    assert server.connections == 1
    with pytest.raises(CallFailed, match="more than 999 bytes"):
        asked(server, bytes_max=999)


def test_a_late_answer_does_not_spoil_the_next_one(serve) -> None:
    def first_late(server: Server, connection: socket.socket) -> None:
        if server.connections == 1:
            in_the_body(server, connection)
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    server = serve(first_late)
    with HttpClient(seconds=1.0, bytes_max=1000) as client:
        with pytest.raises(CallFailed):
            client.answer(requests.Request("GET", server.url))
        assert client.answer(requests.Request("GET", server.url)).json() == {}


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://[", "nonsense", "http://127.0.0.1:99999/"])
def test_nobody_there_is_no_answer(url: str) -> None:
    with HttpClient(seconds=5, bytes_max=9) as client, pytest.raises(CallFailed, match="no answer"):
        client.answer(requests.Request("GET", url))
