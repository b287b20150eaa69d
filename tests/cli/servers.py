"""Servers on loopback that answer once what a test says, however slow, long or wrong it is."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence

Part = bytes | float
"""What is sent, or seconds of a pause."""


@contextlib.contextmanager
def answering(*answers: Sequence[Part], context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """The port, and the requests that came; each answer is for one connection, its parts for one request after another.

    A part that is a tuple belongs to the next request of the same connection.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    requests: list[bytes] = []
    over = threading.Event()

    def serve() -> None:
        # This thread closes it: were it closed elsewhere, the next server could get its number, and be answered here.
        with listening:
            for parts in answers:
                try:
                    connected, _ = listening.accept()
                    if context:
                        connected = context.wrap_socket(connected, server_side=True)
                    with connected:
                        _answer(connected, parts, requests)
                except OSError:
                    continue
            over.wait()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield port, requests
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        over.set()


def _answer(connected: socket.socket, parts: Sequence[Part], requests: list[bytes]) -> None:
    requests.append(_request(connected))
    for part in parts:
        if isinstance(part, float):
            time.sleep(part)
        elif part == NEXT:
            requests.append(_request(connected))
        else:
            connected.sendall(part)


NEXT = b"<next request>"
"""Here the server reads another request on the same connection."""


def _request(connected: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        part = connected.recv(65536)
        if not part:
            return got
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connected.recv(65536)
    return head + b"\r\n\r\n" + body


def plain(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    """An answer with a length."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def trickle(content: bytes, pause_s: float) -> list[Part]:
    """One byte after another."""
    return [part for byte in content for part in (bytes([byte]), pause_s)]
