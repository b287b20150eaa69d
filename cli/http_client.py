"""Calls to the portal over one connection, with one deadline for a whole call.

`http.client` would cost two more starts of Python (it imports the parser of mail), and its time-out limits each wait
alone: a server that sends one byte a second never reaches it. Here every wait is limited by what is left of the call's
time, also the look-up of the name.
"""

from __future__ import annotations

import _thread
import json
import socket
import ssl
import time
import zlib

from cli.address import encoded
from cli.errors import CliError, NoAnswer, Usage
from cli.http_answer import TOO_SLOW, Closed, Stream, read_answer, read_head, time_left
from wire.payloads import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cli.address import Address
    from cli.http_answer import Answer

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


class Portal:
    """One portal and one connection to it, opened by the first call and kept while the server keeps it."""

    def __init__(
        self, address: Address, *, token: str = "", ca_file: str = "", proxy: tuple[str, int] | None = None
    ) -> None:
        self.address, self.token = address, token
        self._ca_file, self._proxy = ca_file, proxy
        self._stream: Stream | None = None

    def call(
        self, method: str, path: str, *, timeout_s: float, query: Mapping[str, object] | None = None,
        form: Mapping[str, str] | None = None, document: Any = None, accept: str = JSON,
        sink: Callable[[bytes], object] | None = None,
    ) -> Answer:  # fmt: skip
        """What the portal answers, whatever the status, within `timeout_s` as a whole. Raises NoAnswer.

        `path` is percent-encoded already (`address.quoted`); `form` or `document` is sent as the body. `sink` gets the
        content of a success in parts, however long it is; an OSError in it is the caller's to make a CliError of.
        """
        until = time.monotonic() + timeout_s
        target = self.address.prefix + path + (f"?{encoded(query)}" if query else "")
        body, kind = b"", ""
        if form is not None:
            body, kind = encoded(form).encode("ascii"), FORM
        elif document is not None:
            body, kind = json.dumps(document).encode("ascii"), JSON
        head = self._head(f"{method} {target}", accept, kind, len(body))
        try:
            return self._exchange(head + body, until, sink, is_repeatable=method == "GET")
        except CliError:
            self.close()
            raise
        except (OSError, ValueError, zlib.error) as error:
            self.close()
            raise NoAnswer(f"{self.address.netloc}: {_reason(error)}") from error

    def close(self) -> None:
        """End the connection; the next call opens a new one."""
        if self._stream is not None:
            self._stream.socket.close()
            self._stream = None

    def _head(self, request: str, accept: str, kind: str, length: int) -> bytes:
        headers = {
            "Host": self.address.netloc,
            "User-Agent": f"kaiku/{VERSION}",
            "Accept": accept,
            "Accept-Encoding": "gzip",
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if kind:
            headers["Content-Type"] = kind
        if not request.startswith("GET "):
            headers["Content-Length"] = str(length)
        lines = (f"{name}: {value}" for name, value in headers.items())
        return "\r\n".join([f"{request} HTTP/1.1", *lines, "", ""]).encode("ascii")

    def _exchange(
        self, request: bytes, until: float, sink: Callable[[bytes], object] | None, *, is_repeatable: bool
    ) -> Answer:
        if self._stream is not None:
            try:
                return self._one(self._stream, request, until, sink)
            except (OSError, Closed):
                # The server ended the connection that it had kept: nothing was answered, and reading twice is harmless.
                self.close()
                if not is_repeatable:
                    raise
        self._stream = _opened(self.address, self._proxy, self._ca_file, until)
        return self._one(self._stream, request, until, sink)

    def _one(
        self, stream: Stream, request: bytes, until: float, sink: Callable[[bytes], object] | None = None
    ) -> Answer:
        stream.send(request, until)
        answer, is_kept = read_answer(stream, until, sink)
        if not is_kept:
            self.close()
        return answer


def _opened(address: Address, proxy: tuple[str, int] | None, ca_file: str, until: float) -> Stream:
    """A new connection, for https with the server's certificate and name checked."""
    stream = Stream(_connected(*(proxy or (address.host, address.port)), until))
    try:
        if proxy:
            host = f"[{address.host}]" if ":" in address.host else address.host
            place = f"{host}:{address.port}"
            stream.send(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode("ascii"), until)
            status, _ = read_head(stream, until)
            if status != 200:
                raise NoAnswer(f"the proxy answered {status}")
        if address.scheme == "https":
            # Nothing that was received before the handshake counts.
            return Stream(_secured(stream.socket, address.host, ca_file, until))
    except BaseException:
        stream.socket.close()
        raise
    return stream


def _secured(plain: socket.socket, host: str, ca_file: str, until: float) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if ca_file:
            context.load_verify_locations(ca_file)
        else:
            context.set_default_verify_paths()
    except OSError as error:
        raise Usage(f"certificates in {ca_file}: {_reason(error)}") from error
    plain.settimeout(time_left(until))
    return context.wrap_socket(plain, server_hostname=host)


def _connected(host: str, port: int, until: float) -> socket.socket:
    """The first address of the host that accepts; each gets an equal part of the time that is left."""
    places = _within(until, lambda: socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
    failed: OSError = OSError(f"{host} has no address")
    for left, (family, kind, protocol, _, place) in zip(range(len(places), 0, -1), places):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(time_left(until) / left)
            made.connect(place)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            made.close()
            failed = error
    raise failed


def _within(until: float, look_up: Callable[[], list[Any]]) -> list[Any]:
    """What a look-up returns, if it does so in time: the system's own time-outs for names are up to a minute.

    A thread of the low level, because a process may end without it.
    """
    done = _thread.allocate_lock()
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(look_up())
        except Exception as error:
            results.append(error)
        finally:
            done.release()

    done.acquire()
    _thread.start_new_thread(run, ())
    if not done.acquire(timeout=time_left(until)):
        raise TimeoutError("the name of the portal could not be looked up in time")
    if isinstance(results[0], Exception):
        raise results[0]
    found: list[Any] = results[0]
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, (TimeoutError, socket.timeout)):
        return TOO_SLOW
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
