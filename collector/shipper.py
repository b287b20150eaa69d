"""Sending what waits on disk to the portal, in a short-lived process: until acknowledged, or until the time is up.

An entry is forgotten only after a 2xx answer that counts it. What the portal can never take is set aside; what it
cannot take now, or an answer that makes no sense, is tried again with jittered back-off.
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
from urllib.parse import urlsplit

from collector import spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from collector.config import Config

PATHS = {spool.SUMMARY: "/api/v1/ingest/node-summaries", spool.RECORD: "/api/v1/ingest/job-records"}
BACK_OFF_S_MAX = 60.0
ANSWER_BYTES_MAX = 1 << 20
# The portal read the payload and will not change its mind: malformed, too large, wrong type, wrong shape.
NEVER = frozenset({400, 413, 415, 422})


class ShipError(Exception):
    """Nothing can be sent at all: no portal, no token, or a token that others can read."""


class TryLater(Exception):
    """The portal cannot take it now; `after_s` is what it asked for."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Refused(Exception):
    """The portal will never take this entry, and said why."""


class Portal:
    """One connection to the portal; `send` returns when an entry is acknowledged, else raises TryLater or Refused."""

    def __init__(self, config: Config) -> None:
        url = urlsplit(config.portal_url)
        if url.scheme not in ("https", "http") or not url.hostname:
            raise ShipError("portal_url is not set to an https address")
        if url.scheme == "http" and url.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ShipError("portal_url must be https: a token is never sent in the clear")
        self.token = read_token(config.token_file)
        self.prefix, self.request_max_s = url.path.rstrip("/"), config.request_max_s
        self.connection: http.client.HTTPConnection
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=config.ca_file or None)
            self.connection = http.client.HTTPSConnection(
                url.hostname, url.port, timeout=config.request_max_s, context=context
            )
        else:
            self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=config.request_max_s)

    def send(self, entry: spool.Entry) -> None:
        with open(entry.path, "rb") as file:
            content = file.read()
        try:
            json.loads(content)
        except ValueError as error:
            raise Refused(f"not whole on disk: {error}") from error
        try:
            status, retry_after, answer = self._exchange(PATHS[entry.kind], gzip.compress(content, 6))
        except (OSError, http.client.HTTPException, TimeoutError) as error:
            self.connection.close()
            raise TryLater(f"{type(error).__name__}: {error}") from error
        _judge(status, retry_after, answer)

    def _exchange(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        """One request within `request_max_s` in all, however slowly the other side drips."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        signal.signal(signal.SIGALRM, _too_slow)
        signal.setitimer(signal.ITIMER_REAL, self.request_max_s)
        try:
            self.connection.request("POST", self.prefix + path, body, headers)
            response = self.connection.getresponse()
            return response.status, response.headers.get("Retry-After", ""), response.read(ANSWER_BYTES_MAX)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def ship(config: Config, until: float) -> tuple[int, str]:
    """Send all that waits, trying again until `until` (monotonic); how many went, and why it stopped, if it did.

    Raises ShipError where nothing can be sent at all.
    """
    portal = Portal(config)
    sent, failures, reason = 0, 0, ""
    while waiting := list(spool.entries(config.spool_dir)):
        for entry in waiting:
            try:
                _send_one(portal, config.spool_dir, entry)
            except TryLater as later:
                failures, reason = failures + 1, str(later)
                pause_s = max(later.after_s, min(2.0**failures, BACK_OFF_S_MAX)) * random.uniform(0.5, 1.5)  # noqa: S311
                if time.monotonic() + pause_s > until:
                    return sent, reason
                time.sleep(pause_s)
                break
            sent, failures = sent + 1, 0
            if time.monotonic() > until:
                return sent, "the time was up"
    return sent, ""


def _send_one(portal: Portal, folder: str, entry: spool.Entry) -> None:
    """Acknowledged and forgotten, or refused and set aside; another process may have been quicker."""
    try:
        portal.send(entry)
        spool.done(entry)
    except FileNotFoundError:
        return
    except Refused as refused:
        spool.set_aside(folder, entry, str(refused))


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
    if not token:
        raise ShipError(f"{path} is empty")
    return token


def _judge(status: int, retry_after: str, answer: bytes) -> None:
    """Nothing for an acknowledged entry; Refused or TryLater for every other answer."""
    if status in NEVER:
        raise Refused(f"{status}: {answer[:1500].decode('utf-8', 'replace')}")
    if status not in (200, 201):
        raise TryLater(f"the portal answered {status}", float(retry_after) if retry_after.isdigit() else 0.0)
    try:
        counted: dict[str, Any] = json.loads(answer)
        taken, rejected = counted["accepted"] + counted["duplicate"], counted["rejected"]
    except (ValueError, KeyError, TypeError) as error:
        raise TryLater("the portal's answer makes no sense") from error
    if rejected:
        raise Refused(json.dumps(rejected)[:1500])
    if taken != 1:
        raise TryLater("the portal did not count the entry")


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("no whole answer in time")
