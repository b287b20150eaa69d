"""Reading an answer of HTTP/1.1 from a socket, within a deadline and a size, whatever the other side sends.

Only what the portal's servers send is understood: a length, chunks, or an end of the connection; plain or gzip.
"""

from __future__ import annotations

import json
import time
import zlib

from cli.errors import NoAnswer, of_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Any

HEAD_BYTES_MAX = 1 << 16
ANSWER_BYTES_MAX = 16 << 20
"""Unpacked; the longest answer, a page of two hundred runs, is a tenth of it."""
READ_BYTES = 1 << 16
TOO_SLOW = "no complete answer in time"


class Answer:
    """A whole answer, unpacked; the names of its headers are in lower case."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.status, self.headers, self.content = status, headers, content
        self._document: Any = None

    def json(self) -> Any:
        """The document in it, read once. Raises NoAnswer if it is none."""
        if self._document is None:
            try:
                self._document = json.loads(self.content)
            except (ValueError, RecursionError) as error:
                raise NoAnswer("the portal's answer is not valid JSON: check KAIKU_URL") from error
        return self._document

    def checked(self) -> Answer:
        """The same answer if it is a success. Raises the CliError of its status otherwise."""
        if 200 <= self.status < 300:
            return self
        raise of_answer(self.status, self.detail(), self.headers.get("retry-after", ""))

    def detail(self) -> str:
        """What a problem (RFC 9457) states; empty if the answer is none."""
        try:
            said = self.json()
        except NoAnswer:
            return ""
        detail = said.get("detail") if isinstance(said, dict) else None
        return detail[:500] if isinstance(detail, str) else ""


class Closed(NoAnswer):
    """The server ended the connection before it answered anything."""


class Stream:
    """A connected socket, read with a buffer."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket, self.buffer = connected, bytearray()

    def send(self, data: bytes, until: float) -> None:
        while data:
            self.socket.settimeout(time_left(until))
            data = data[self.socket.send(data) :]

    def more(self, until: float) -> bool:
        """Whether something more was received."""
        self.socket.settimeout(time_left(until))
        got = self.socket.recv(READ_BYTES)
        self.buffer += got
        return bool(got)

    def line(self, until: float, bytes_max: int) -> bytes:
        """The next line, without its end."""
        while (at := self.buffer.find(b"\n")) < 0:
            if len(self.buffer) > bytes_max:
                raise NoAnswer("the portal's answer is invalid")
            if not self.more(until):
                raise Closed("the portal ended the connection") if not self.buffer else NoAnswer(TOO_SLOW)
        line = bytes(self.buffer[:at])
        del self.buffer[: at + 1]
        return line.rstrip(b"\r")

    def exactly(self, length: int, until: float) -> bytes:
        while len(self.buffer) < length:
            if not self.more(until):
                raise NoAnswer("the portal's answer is incomplete")
        part = bytes(self.buffer[:length])
        del self.buffer[:length]
        return part


def read_answer(stream: Stream, until: float, sink: Callable[[bytes], object] | None = None) -> tuple[Answer, bool]:
    """One answer, and whether the connection may be used again.

    `sink` gets the content of a success in parts, of any size as a whole: the answer then has none.
    """
    status, headers = read_head(stream, until)
    while 100 <= status < 200:
        status, headers = read_head(stream, until)
    is_kept = "close" not in headers.get("connection", "").lower()
    if status in (204, 304):
        return Answer(status, headers, b""), is_kept
    unpack = _Unpacked(headers.get("content-encoding", "").strip().lower(), sink if 200 <= status < 300 else None)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        _chunks(stream, unpack, until)
    elif "content-length" in headers:
        _counted(stream, unpack, _number(headers["content-length"]), until)
    else:
        is_kept = False
        while stream.buffer or stream.more(until):
            unpack.take(bytes(stream.buffer))
            stream.buffer.clear()
    return Answer(status, headers, unpack.content()), is_kept


def read_head(stream: Stream, until: float) -> tuple[int, dict[str, str]]:
    parts = stream.line(until, HEAD_BYTES_MAX).split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or len(parts[1]) != 3 or not parts[1].isdigit():
        raise NoAnswer("what answers there is not a portal")
    headers: dict[str, str] = {}
    read = 0
    while line := stream.line(until, HEAD_BYTES_MAX):
        read += len(line) + 1
        if read > HEAD_BYTES_MAX:
            raise NoAnswer("the portal's answer is invalid")
        name, _, value = line.partition(b":")
        headers.setdefault(name.decode("latin-1").strip().lower(), value.decode("latin-1").strip())
    return int(parts[1]), headers


def _counted(stream: Stream, unpack: _Unpacked, length: int, until: float) -> None:
    while length:
        part = stream.exactly(min(length, READ_BYTES), until)
        length -= len(part)
        unpack.take(part)


def _chunks(stream: Stream, unpack: _Unpacked, until: float) -> None:
    while length := _number(stream.line(until, HEAD_BYTES_MAX).partition(b";")[0].decode("latin-1"), 16):
        _counted(stream, unpack, length, until)
        stream.line(until, HEAD_BYTES_MAX)
    for _ in range(100):
        if not stream.line(until, HEAD_BYTES_MAX):
            return
    raise NoAnswer("the portal's answer is invalid")


class _Unpacked:
    """The content of an answer as it comes in, unpacked and counted, or passed on."""

    def __init__(self, coding: str, sink: Callable[[bytes], object] | None = None) -> None:
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise NoAnswer("the portal's answer has an unknown coding")
        self.gzip = zlib.decompressobj(31) if "gzip" in coding else None
        self.parts, self.length = bytearray(), 0
        self.sink = sink

    def take(self, part: bytes) -> None:
        if self.sink is not None:
            self.sink(part if self.gzip is None else self.gzip.decompress(part))
            return
        if self.gzip is not None:
            part = self.gzip.decompress(part, ANSWER_BYTES_MAX + 1 - len(self.parts))
        self.parts += part
        if len(self.parts) > ANSWER_BYTES_MAX:
            raise NoAnswer(f"the portal's answer is larger than {ANSWER_BYTES_MAX >> 20} MiB")

    def content(self) -> bytes:
        if self.gzip is not None and not self.gzip.eof:
            raise NoAnswer("the portal's answer is incomplete")
        return bytes(self.parts)


def _number(written: str, base: int = 10) -> int:
    digits = written.strip()
    if not digits.isalnum() or not digits.isascii() or len(digits) > 12:
        raise NoAnswer("the portal's answer is invalid")
    return int(digits, base)


def time_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError(TOO_SLOW)
    return left
