"""Reading the complete body of a request before it is processed, within limits of size, time and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

BODY_S = 30.0
"""A body must arrive within this time: 8 MiB at 3 Mbit/s."""

DISCARD_S, DISCARD_BYTES_MAX = 5.0, 8 * 2**20
"""This much of an unwanted body is still read, because a client that is still sending does not read an answer."""

TOGETHER_BYTES_MAX = 256 * 2**20
"""All bodies in memory at the same time: fifty times what all nodes of LUMI-G send at once."""


class Gone(Exception):
    """The client has disconnected."""


class TooSlow(Exception):
    """The body did not arrive in time."""


class BodyPastLimit(Exception):
    """The body is larger than allowed."""


class NoRoom(Exception):
    """So much is in memory already that nothing more is accepted."""


async def discard(receive: Callable[..., Any]) -> None:
    """Let the body of a rejected call arrive, within limits, and drop it."""
    left_bytes = DISCARD_BYTES_MAX
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_S):
            while left_bytes > 0:
                message = await receive()
                left_bytes -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return


class Bodies:
    """The bodies that are in memory."""

    def __init__(self) -> None:
        self.held_bytes = 0

    @property
    def fill(self) -> float:
        """The used share of the memory limit, from 0 to 1."""
        return self.held_bytes / TOGETHER_BYTES_MAX

    @contextmanager
    def one(self) -> Iterator[Body]:
        """One body, which counts until the end of the block."""
        body = Body(self)
        try:
            yield body
        finally:
            self.held_bytes -= body.size_bytes


class Body:
    """The body of one request, as far as it has arrived."""

    def __init__(self, bodies: Bodies) -> None:
        self.bodies, self.size_bytes = bodies, 0

    async def whole(self, receive: Callable[..., Any], bytes_max: int) -> bytes:
        """The messages of the ASGI server. Raises Gone, TooSlow, BodyPastLimit and NoRoom."""
        try:
            async with asyncio.timeout(BODY_S):
                return await self._read(receive, bytes_max)
        except TimeoutError:
            raise TooSlow from None

    async def _read(self, receive: Callable[..., Any], bytes_max: int) -> bytes:
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            self._count(len(parts[-1]))
            if self.size_bytes > bytes_max:
                raise BodyPastLimit(f"The body exceeds {bytes_max} bytes.")
            if not message.get("more_body", False):
                return b"".join(parts)

    def _count(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self.bodies.held_bytes += size_bytes
        if self.bodies.fill > 1:
            raise NoRoom
