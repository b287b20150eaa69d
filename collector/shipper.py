"""Sending waiting data to the portal, in a short-lived process: until acknowledged, or until the time is up.

An entry is removed only after a 2xx answer that counts it. An entry that the portal can never accept is set aside; one
that it cannot accept now, or an invalid answer, is retried with jittered back-off.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import signal
import ssl
import stat
import time
from contextlib import closing, suppress
from urllib.parse import urlsplit

from collector import spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from collector.config import Config

PATHS = {
    spool.SUMMARY: "/api/v1/ingest/node-summaries",
    spool.RECORD: "/api/v1/ingest/job-records",
    spool.RAW: "/api/v1/ingest/raw-samples",
    spool.INTERIM: "/api/v1/ingest/node-summaries",
}
BACK_OFF_S_MAX = 60.0
INTERIM_S_MAX = 5.0
"""The longest that what must arrive may wait for an interim summary that is being sent."""

ANSWER_BYTES_MAX = 1 << 20
# The portal has read the payload and will never accept it: malformed, too large, wrong type, wrong structure.
NEVER = frozenset({400, 413, 415, 422})


class ShipError(Exception):
    """Nothing can be sent at all: no portal, no token, or a token that others can read."""


class TryLater(Exception):
    """The portal cannot accept it now; `after_s` is the wait that it requested."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Refused(Exception):
    """The portal will never accept this entry, and stated why."""


class Portal:
    """One connection to the portal; `send` returns when an entry is acknowledged, else raises TryLater or Refused."""

    def __init__(self, config: Config, *, is_lean: bool = False) -> None:
        self.token = read_token(config.token_file)
        self.request_max_s = config.request_max_s
        self.connection, self.prefix = connection_to(config, is_lean=is_lean)

    def send(self, entry: spool.Entry) -> None:
        if entry.kind not in PATHS:
            raise Refused("neither a summary nor a record nor raw samples")
        status, retry_after, answer = self.exchange(PATHS[entry.kind], gzip.compress(_content(entry), 6))
        judge(status, retry_after, answer)

    def exchange(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        """Status, Retry-After and answer of one call; TryLater if there was none."""
        try:
            return self._exchange(path, body)
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise TryLater(f"{type(error).__name__}: {error}") from error

    def _exchange(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        """One request within `request_max_s` in all, however slowly the other side sends."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        signal.signal(signal.SIGALRM, stop_when_too_slow)
        signal.setitimer(signal.ITIMER_REAL, self.request_max_s)
        try:
            self.connection.request("POST", self.prefix + path, body, headers)
            response = self.connection.getresponse()
            return response.status, response.headers.get("Retry-After", ""), response.read(ANSWER_BYTES_MAX)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def connection_to(config: Config, *, is_lean: bool = False) -> tuple[http.client.HTTPConnection, str]:
    """The connection to the portal, not yet opened, and the path prefix of every call; ShipError if the settings forbid
    it. For `is_lean` see `_context`."""
    try:
        url = urlsplit(config.portal_url)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise ShipError(f"portal_url: {error}") from error
    if url.scheme not in ("https", "http") or not host:
        raise ShipError("portal_url is not set to an https address")
    prefix = url.path.rstrip("/")
    if url.scheme == "http":
        if host not in ("127.0.0.1", "localhost", "::1"):
            raise ShipError("portal_url must be https: a token is never sent in the clear")
        return http.client.HTTPConnection(host, port, timeout=config.request_max_s), prefix
    try:
        context = _context(config, is_lean=is_lean)
    except OSError as error:
        raise ShipError(f"ca_file {config.ca_file}: {error}") from error
    if not config.proxy:
        return http.client.HTTPSConnection(host, port, timeout=config.request_max_s, context=context), prefix
    through = _proxy(config.proxy)
    connection = http.client.HTTPSConnection(*through, timeout=config.request_max_s, context=context)
    connection.set_tunnel(host, port)
    return connection, prefix


def _context(config: Config, *, is_lean: bool) -> ssl.SSLContext:
    """How the portal's certificate is verified: by `ca_file`, or else by the system's authorities.

    `is_lean` reads of the system's only the one that is needed, from their folder, which may be incomplete: the file of
    all of them costs 20 ms of CPU time, more than everything else about a call.
    """
    folder = ssl.get_default_verify_paths().capath if is_lean and not config.ca_file else None
    return ssl.create_default_context(cafile=config.ca_file or None, capath=folder)


def _proxy(address: str) -> tuple[str, int | None]:
    """Host and port of a proxy, which forwards the TLS connection and cannot read it."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise ShipError(f"proxy: {error}") from error
    if url.scheme != "http" or not host or url.username is not None:
        raise ShipError("proxy must be http://host:port, without a user")
    return host, port or 3128


def _content(entry: spool.Entry) -> bytes:
    """The content of an entry; Refused if the portal could not read it."""
    try:
        with open(entry.path, "rb") as file:
            content = file.read()
        json.loads(content)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"incomplete on disk: {error}") from error
    return content


def ship(config: Config, until: float) -> tuple[int, str]:
    """Send everything that must arrive, until `until` (monotonic); returns how many were sent, and why it stopped, if
    it did.

    Raises ShipError if nothing can be sent at all.
    """
    portal = Portal(config)
    with closing(portal.connection):
        return _ship_through(portal, config.spool_dir, until)


def ship_raw(config: Config) -> None:
    """Offer the waiting raw samples, each once: a portal under load accepts them later, or never."""
    waiting = [entry for entry in spool.entries(config.spool_dir) if entry.kind == spool.RAW]
    if not waiting:
        return
    portal = Portal(config)
    with closing(portal.connection), suppress(TryLater):
        for entry in waiting:
            _send_one(portal, config.spool_dir, entry)


def ship_interims(config: Config, is_called: Callable[[], bool]) -> list[str]:
    """Offer the waiting interim summaries, each once, until `is_called` finds something that must arrive; returns why
    the portal will never accept some of them, which are dropped.

    Raises ShipError if nothing can be sent at all.
    """
    refused: list[str] = []
    for is_lean in (True, False):
        portal = Portal(config, is_lean=is_lean)
        portal.request_max_s = min(portal.request_max_s, INTERIM_S_MAX)
        try:
            with closing(portal.connection):
                _offer(portal, config.spool_dir, is_called, refused)
            break
        except TryLater as later:
            if not isinstance(later.__cause__, ssl.SSLCertVerificationError):
                break
    return refused


def _offer(portal: Portal, folder: str, is_called: Callable[[], bool], refused: list[str]) -> None:
    for entry in spool.interims(folder):
        if is_called():
            return
        try:
            portal.send(entry)
        except FileNotFoundError:
            continue
        except Refused as refusal:
            refused.append(str(refusal))
        spool.done(entry)


def _ship_through(portal: Portal, folder: str, until: float) -> tuple[int, str]:
    sent, failures, reason = 0, 0, ""
    while waiting := spool.due(folder):
        for entry in waiting:
            try:
                sent += _send_one(portal, folder, entry)
            except TryLater as later:
                # The next one is tried after the pause, so an entry on which the portal fails does not block the rest.
                failures, reason = failures + 1, str(later)
                # Full jitter, so that nodes that were asked to wait equally long do not return at the same moment.
                range_s = max(min(2.0 ** min(failures, 10), BACK_OFF_S_MAX), later.after_s)
                pause_s = later.after_s + random.uniform(0.0, range_s)  # noqa: S311
                if time.monotonic() + pause_s > until:
                    return sent, reason
                time.sleep(pause_s)
                continue
            failures = 0
            if time.monotonic() > until:
                return sent, "the time limit was reached"
    return sent, ""


def _send_one(portal: Portal, folder: str, entry: spool.Entry) -> int:
    """1 acknowledged and removed, or 0 rejected and set aside; another process may have been faster."""
    try:
        portal.send(entry)
        spool.done(entry)
    except FileNotFoundError:
        return 0
    except Refused as refused:
        spool.set_aside(folder, entry, str(refused))
        return 0
    return 1


def read_token(path: str) -> str:
    """The portal's token from a file that only its owner can read; ShipError otherwise."""
    try:
        mode = os.stat(path).st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ShipError(f"{path} can be read by others: chmod 600 it")
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ShipError(f"{path}: {error}") from error
    if len(token.split()) != 1:
        raise ShipError(f"{path} does not contain exactly one token")
    return token


def judge(status: int, retry_after: str, answer: bytes) -> None:
    """Nothing for an acknowledged entry; Refused or TryLater for every other answer."""
    if status in NEVER:
        raise Refused(f"{status}: {answer[:1500].decode('utf-8', 'replace')}")
    if status not in (200, 201, 202):
        raise TryLater(f"the portal answered {status}", float(retry_after) if retry_after.isdecimal() else 0.0)
    try:
        counted: dict[str, Any] = json.loads(answer)
        taken, rejected = counted["accepted"] + counted["duplicate"], counted["rejected"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TryLater("the portal's answer is invalid") from error
    if rejected:
        raise Refused(json.dumps(rejected)[:1500])
    if taken != 1:
        raise TryLater("the portal did not count the entry")


def stop_when_too_slow(number: int, frame: FrameType | None) -> None:
    """The handler of SIGALRM while a call is made. Raises TimeoutError."""
    raise TimeoutError("no complete answer in time")
