"""Many senders at once, over HTTP on loopback, with as little work beside the server as possible."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Sent:
    """How long it took until all had their answers, the answers, and how long each waited."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)

    def percentile_ms(self, share: float) -> float:
        return sorted(self.waits_s)[int(share * (len(self.waits_s) - 1))] * 1000


def request(path: str, token: str, body: bytes, encoding: str = "gzip") -> bytes:
    """The bytes of one call."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def send_all(port: int, calls: Iterable[bytes], senders: int, rate_s: float = math.inf) -> Sent:
    """Every call once, by this many senders with permanent connections, at most `rate_s` a second.

    A wait counts from when the call was due, so that the delays by a slow answer are included.
    """
    return asyncio.run(_send_all(port, calls, senders, rate_s))


async def _send_all(port: int, calls: Iterable[bytes], senders: int, rate_s: float) -> Sent:
    sent, left = Sent(), iter(enumerate(calls))
    start = time.perf_counter()
    await asyncio.gather(*(_sender(port, left, sent, start, rate_s) for _ in range(senders)))
    sent.seconds = time.perf_counter() - start
    return sent


async def _sender(port: int, left: Iterator[tuple[int, bytes]], sent: Sent, start: float, rate_s: float) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for place, call in left:
        due = start + place / rate_s if rate_s < math.inf else time.perf_counter()
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        writer.write(call)
        sent.statuses[await _status(reader)] += 1
        sent.waits_s.append(time.perf_counter() - due)
    writer.close()


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))
    return int(head.split()[1])
