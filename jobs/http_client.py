"""Calls to other servers over HTTP: one deadline for the whole call, and a limit of unpacked bytes.

A timeout of `requests` limits each wait for the next byte: a server that sends one byte a second never reaches it.
Here the connection is closed at the deadline, whatever it was doing, also within TLS.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

CHUNK_BYTES = 2**16


class CallFailed(RuntimeError):
    """No complete answer within time and size; the message states why, without the address."""


@dataclass(frozen=True)
class Answer:
    """A whole answer, unpacked; `following` is the address of the next page, empty without one."""

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes
    following: str = ""

    def json(self) -> Any:
        """The document in it. Raises ValueError or RecursionError when it is not valid."""
        return json.loads(self.content)


class HttpClient:
    """Calls of one thread to one server, over one connection where the server keeps it open.

    Each call may take `seconds` as a whole, except for looking up the name, and return up to `bytes_max` after
    unpacking. Redirects are not followed.
    """

    def __init__(self, *, seconds: float, bytes_max: int, headers: Mapping[str, str] | None = None) -> None:
        self._seconds, self._bytes_max = seconds, bytes_max
        self._watch = _Watch()
        self._session = requests.Session()
        self._session.headers.update(headers or {})
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, _WatchedAdapter(self._watch))

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._session.close()
        self._watch.forget()

    def answer(self, request: requests.Request) -> Answer:
        """What the server answers, whatever the status. Raises CallFailed."""
        with self._watch.within(self._seconds):
            try:
                answer = self._whole(self._session.prepare_request(request))
            except (OSError, ValueError, HTTPError) as error:
                # requests' own errors are OSErrors.
                raise CallFailed(self._watch.late or f"no answer ({type(error).__name__})") from error
            if self._watch.late:
                # A body of unknown length looks complete when the connection is closed early.
                raise CallFailed(self._watch.late)
        return answer

    def _whole(self, prepared: requests.PreparedRequest) -> Answer:
        how = self._session.merge_environment_settings(str(prepared.url), {}, True, None, None)
        with self._session.send(prepared, timeout=self._seconds, allow_redirects=False, **how) as answer:
            content = bytearray()
            for chunk in answer.iter_content(CHUNK_BYTES):
                content += chunk
                if len(content) > self._bytes_max:
                    raise CallFailed(f"answered with more than {self._bytes_max} bytes")
            following = answer.links.get("next", {}).get("url", "")
            return Answer(str(answer.url), answer.status_code, answer.headers, bytes(content), following)


class _Watch:
    """Closes the connection of a call at its deadline; `late` is true after that."""

    def __init__(self) -> None:
        self.late = ""
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self.late = ""
        timer = threading.Timer(seconds, self._cut, [seconds])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # it must not close the next call

    def hold(self, connected: socket.socket) -> None:
        """Watch a new connection by a second handle, because TLS takes over the first. Raises TimeoutError if late."""
        with self._lock:
            self._close()
            if self.late:
                connected.close()
                raise TimeoutError(self.late)
            self._socket = connected.dup()

    def forget(self) -> None:
        with self._lock:
            self._close()

    def _cut(self, seconds: float) -> None:
        with self._lock:
            self.late = f"no answer within {seconds:g} s"
            if self._socket:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None


class _WatchedAdapter(HTTPAdapter):
    """Passes each connection to the watch before anything is sent on it."""

    def __init__(self, watch: _Watch) -> None:
        self._watch = watch
        super().__init__(pool_connections=1, pool_maxsize=1)

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        if not hasattr(pool.ConnectionCls, "hold"):
            pool.ConnectionCls = _watched(pool.ConnectionCls, self._watch)
        return pool


def _watched(kind: Any, watch: _Watch) -> Any:
    class Watched(kind):  # type: ignore[misc]  # of two kinds, with TLS and without
        hold = staticmethod(watch.hold)

        def _new_conn(self) -> socket.socket:
            connected: socket.socket = super()._new_conn()
            self.hold(connected)
            return connected

    return Watched
