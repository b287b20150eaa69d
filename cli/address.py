"""Addresses: where a portal is, what a path and a query look like, and which proxy leads there."""

from __future__ import annotations

import re

from cli.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ADDRESS = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?((?:/[A-Za-z0-9._~-]+)*)/?")
PORTS = {"https": 443, "http": 80}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986, section 2.3
PROXY_PORT = 3128


class Address:
    """Where a portal is: `https://host[:port][/prefix]`; plain http only on this machine."""

    def __init__(self, written: str) -> None:
        found = ADDRESS.fullmatch(written.strip())
        if found is None:
            raise Usage(f"not an address of a portal: {written[:200]!r}")
        self.scheme, self.prefix = found[1], found[4]
        self.host = found[2].strip("[]").lower()
        self.port = int(found[3] or PORTS[self.scheme])
        if not 0 < self.port < 65536:
            raise Usage(f"not an address of a portal: {written[:200]!r}")
        if self.scheme == "http" and self.host not in LOOPBACK:
            raise Usage("the portal's address must begin with https: a token is never sent in the clear")
        shown = f"[{self.host}]" if ":" in self.host else self.host
        self.netloc = shown if self.port == PORTS[self.scheme] else f"{shown}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.prefix}"


def encoded(values: Mapping[str, object]) -> str:
    """Values as a query or a form, percent-encoded; those that are None are left out."""
    return "&".join(f"{quoted(name)}={quoted(str(value))}" for name, value in values.items() if value is not None)


def quoted(text: str) -> str:
    """One part of a path or query, percent-encoded.

    >>> quoted("a b/ä")
    'a%20b%2F%C3%A4'
    """
    return "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def proxy_for(address: Address, environ: Mapping[str, str]) -> tuple[str, int] | None:
    """Host and port of the proxy that the environment names for this portal; None without one.

    It passes the TLS connection on and cannot read it. `no_proxy` lists hosts and their domains, or is a star.
    """
    written = environ.get("https_proxy") or environ.get("HTTPS_PROXY") or ""
    if not written or address.scheme != "https":
        return None
    for part in (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(","):
        name = part.strip().lstrip(".")
        if name and (name == "*" or address.host == name or address.host.endswith(f".{name}")):
            return None
    found = ADDRESS.fullmatch(written if "://" in written else f"http://{written}")
    if found is None or found[1] != "http":
        raise Usage("https_proxy must be http://host:port, without a user")
    return found[2].strip("[]"), int(found[3] or PROXY_PORT)
