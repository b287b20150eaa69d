"""A real https server in a thread of the test, with its own CA: it takes posts, refuses them, or stalls."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Received:
    """One post as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What arrived, and how to answer: `statuses` by path, else 200; a path in `stalls` dribbles its answer."""

    port: int = 0
    posts: list[Received] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    stalls: set[str] = field(default_factory=set)
    is_over: Event = field(default_factory=Event)
    authority: Path = Path()

    def address(self, path: str = "/hook/of/the/team/abcdefgh") -> str:
        return f"https://localhost:{self.port}{path}"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A CA, and a file with key and certificate of `localhost` that it signed."""
    now, ca_key, key = datetime.now(UTC), *(ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("Test CA", "localhost"))

    def signed(subject: x509.Name, public: Any, *extensions: tuple[x509.ExtensionType, bool]) -> x509.Certificate:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(ca_name).public_key(public)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=3650))
        made = made.not_valid_after(now + timedelta(days=3650))
        for extension, is_critical in extensions:
            made = made.add_extension(extension, is_critical)
        return made.sign(ca_key, hashes.SHA256())

    authority_id = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    ca = signed(
        ca_name, ca_key.public_key(), (x509.BasicConstraints(True, None), True), (authority_id, False), (usage, True)
    )
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    own = signed(name, key.public_key(), (names, False), (issuer, False))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + own.public_bytes(pem)
    (folder / "server.pem").write_bytes(text)
    return folder / "ca.pem", folder / "server.pem"


@contextmanager
def receiver(folder: Path) -> Iterator[Receiver]:
    """The server on a port of its own."""
    known = Receiver()
    known.authority, own = certificate(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.posts.append(Received(self.path, dict(self.headers), body))
            if self.path in known.stalls:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not known.is_over.wait(0.2):
                    self.wfile.write(b"a")
                    self.wfile.flush()
                return
            self.send_response(known.statuses.get(self.path, 200))
            for name, value in known.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that has gone is what some tests are about."""

    server = Quiet(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    known.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield known
    finally:
        known.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
