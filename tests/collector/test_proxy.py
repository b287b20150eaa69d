"""Sending through a proxy: it passes a TLS connection on, and sees neither token nor payload."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import spool
from collector.config import Config
from collector.shipper import ShipError, ship
from tests.collector.answers import Answers, counted, serving, shipping_config
from tests.parts import need
from tests.processes import PATIENCE_S


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = shipping_config(tmp_path)
    made.ca_file = str(tmp_path / "cert.pem")
    spool.put(made.spool_dir, spool.SUMMARY, "one", json.dumps({"name": "one"}).encode(), 1e6)
    return made


@pytest.fixture
def portal(tmp_path: Path) -> Iterator[Answers]:
    """A portal with a certificate of 127.0.0.1 that `cert.pem` vouches for."""
    files = (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))
    need("openssl")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kaiku-test"
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]]
    subprocess.run([*command.split(), *extra], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    made = Answers((201, counted()))
    made.server.socket = context.wrap_socket(made.server.socket, server_side=True)
    with serving(made):
        yield made


class Proxy:
    """Passes one connection through to where CONNECT names, and keeps what it was asked and what went by."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.asked = self.seen = b""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def _serve(self) -> None:
        with self.server, self.server.accept()[0] as client:
            self.asked = client.recv(4096)
            host, _, port = self.asked.split()[1].decode().partition(":")
            with socket.create_connection((host, int(port))) as portal:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self._copy, args=(portal, client), daemon=True)
                back.start()
                self._copy(client, portal)
                back.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                self.seen += chunk
                target.sendall(chunk)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def test_a_proxy_passes_the_connection_on_and_sees_nothing_of_it(config: Config, portal: Answers) -> None:
    proxy = Proxy()
    config.portal_url, config.proxy = f"https://{portal.address}", proxy.address
    assert ship(config, time.monotonic() + 30) == (1, "")
    proxy.thread.join(PATIENCE_S)
    assert [document for _, _, document in portal.requests] == [{"name": "one"}]
    assert portal.requests[0][1]["Authorization"] == "Bearer secret"
    assert proxy.asked.startswith(f"CONNECT {portal.address} HTTP/1.".encode())
    assert len(proxy.seen) > 500
    assert b"secret" not in proxy.asked + proxy.seen


def test_a_proxy_that_does_not_answer_keeps_the_payload(config: Config, portal: Answers) -> None:
    config.portal_url, config.proxy = f"https://{portal.address}", "http://127.0.0.1:9"
    assert ship(config, time.monotonic()) == (0, "ConnectionRefusedError: [Errno 111] Connection refused")
    assert len(list(spool.entries(config.spool_dir))) == 1


@pytest.mark.parametrize(
    "proxy", ["proxy:3128", "https://proxy:3128", "http://me:word@proxy:3128", "http://proxy:port"]
)
def test_a_proxy_that_is_none_is_refused(config: Config, portal: Answers, proxy: str) -> None:
    config.portal_url, config.proxy = f"https://{portal.address}", proxy
    with pytest.raises(ShipError, match="proxy"):
        ship(config, time.monotonic())
    assert len(list(spool.entries(config.spool_dir))) == 1
