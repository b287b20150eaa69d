"""Requesting one web address, or posting to one: within one deadline, and only where it is allowed to connect.

A name is looked up once for each request, every address it leads to is checked, and the connection goes to one of
exactly those: a name that changes a moment later has no effect. Only the head of an answer is read. Proxies of
the environment are not used, because a proxy would look up the name again.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPMessage
from threading import Thread
from typing import Any, cast
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
REDIRECTS = frozenset({301, 302, 303, 307, 308})
REDIRECTS_MAX = 10
"""As many as Python's own client follows."""
URL_CHARACTERS_MAX = 4096
USER_AGENT, POST_AGENT = "Kaiku link check", "Kaiku webhook"

MayReach = Callable[[str, int], bool]
"""Whether an address, as a socket names it, may be connected to at a port."""


class NotFollowed(Exception):
    """An address that is not requested; the message gives the reason and nothing about its content."""


@dataclass(frozen=True)
class Target:
    """Where a request goes: the parts of an address."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """The host as a request names it, with its port where that is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Asking:
    """All requests for one link; they end at `until_s` on the monotonic clock, however far they are."""

    def __init__(self, timeout_s: float, may_reach: MayReach) -> None:
        self._until_s = time.monotonic() + timeout_s
        self._may_reach = may_reach

    def status(self, method: str, url: str) -> int:
        """The status of the last answer, redirects followed with the same method.

        Raises NotFollowed, TimeoutError, and what sockets, TLS, http.client and invalid addresses raise.
        """
        for _ in range(REDIRECTS_MAX + 1):
            status, answered = self._answer(method, target_of(url), {"User-Agent": USER_AGENT})
            location = answered.get("Location", "")
            if status not in REDIRECTS or not location:
                return status
            url = urljoin(url, location)
        raise NotFollowed("redirected too often")

    def post(self, target: Target, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        """The status and the `Retry-After` of the answer to a POST; redirects are not followed.

        Raises what `status` raises.
        """
        headers = {"User-Agent": POST_AGENT, "Content-Length": str(len(body)), **headers}
        status, answered = self._answer("POST", target, headers, body)
        return status, answered.get("Retry-After", "")

    def _answer(
        self, method: str, target: Target, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, HTTPMessage]:
        """The head of the answer."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        lines += "Accept: */*\r\nConnection: close\r\n\r\n"
        head = f"{method} {target.path} HTTP/1.1\r\nHost: {target.name}\r\n{lines}"
        with closing(self._connected(target)) as connection:
            connection.settimeout(self._left_s())
            connection.sendall(head.encode("ascii") + body)
            # It asks for nothing of a socket but its file.
            arriving = cast(socket.socket, _Arriving(connection, self._left_s))
            answer = http.client.HTTPResponse(arriving, method=method)
            with closing(answer):
                answer.begin()
                return answer.status, answer.headers

    def _connected(self, target: Target) -> socket.socket:
        """A connection to one of the addresses that were checked; to none where one of them is not allowed."""
        found = self._looked_up(target)
        if not all(self._may_reach(address[0], target.port) for _, address in found):
            raise NotFollowed("leads to an address that is not public, or to a port other than 80 and 443")
        error: OSError = OSError("the name has no address")
        for family, address in found:
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                connection.settimeout(self._left_s())
                connection.connect(address)
                return self._over_tls(connection, target) if target.scheme == "https" else connection
            except BaseException as failed:
                connection.close()
                if not isinstance(failed, OSError) or isinstance(failed, TimeoutError):
                    raise
                error = failed
        raise error

    def _over_tls(self, connection: socket.socket, target: Target) -> socket.socket:
        connection.settimeout(self._left_s())
        return ssl.create_default_context().wrap_socket(connection, server_hostname=target.host.rstrip("."))

    def _looked_up(self, target: Target) -> list[tuple[int, tuple[Any, ...]]]:
        """The addresses of a host, each once; a slow resolver keeps running in its own thread."""
        found: list[list[tuple[int, tuple[Any, ...]]] | Exception] = []

        def look() -> None:
            try:
                rows = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
                found.append(list(dict.fromkeys((family, address) for family, _, _, _, address in rows)))
            except Exception as error:
                found.append(error)

        looking = Thread(target=look, name="link-look-up", daemon=True)
        looking.start()
        looking.join(self._left_s())
        if not found:
            raise TimeoutError
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    def _left_s(self) -> float:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


class _Arriving(io.RawIOBase):
    """The data of a connection, each read within the remaining time, as the file that http.client expects."""

    def __init__(self, connection: socket.socket, left_s: Callable[[], float]) -> None:
        self._connection, self._left_s = connection, left_s

    def makefile(self, mode: str) -> io.BufferedReader:
        """The method that http.client calls on a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._left_s())
        return self._connection.recv_into(buffer)


def target_of(url: str) -> Target:
    """The target of an address: non-ASCII characters percent-encoded, host names in IDNA.

    Raises NotFollowed, and ValueError for an invalid address.
    """
    if len(url) > URL_CHARACTERS_MAX:
        raise NotFollowed("the address is too long")
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS:
        raise NotFollowed("only http and https addresses are followed")
    if parts.username is not None or not parts.hostname:
        raise NotFollowed("an address with a user name, or without a host, is not followed")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    path, query = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._"), quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    if not all(letter.isalnum() or letter in "-._:%" for letter in host):
        raise ValueError("the host name has invalid characters")
    return Target(parts.scheme, host, port, urlunsplit(("", "", path, query, "")))


def named(code: int) -> str:
    """A status with its name, `404 Not Found`."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code}"
