"""From the bytes of a request or a file to single records, within limits; a body that is not JSON is rejected as a
whole."""

import json
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

JSON_BLANKS = b" \t\r\n"
GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib manual, inflateInit2: 16 more means "expect a gzip header"

Document = msgspec.Raw | object


class MalformedBody(ValueError):
    """The body cannot be read as records at all."""


class BodyTooLarge(ValueError):
    """The body, as sent or unpacked, exceeds the limit."""


def gunzip(body: bytes, bytes_max: int) -> bytes:
    """The unpacked body, never storing more than the limit: BodyTooLarge above it, MalformedBody if it is not gzip."""
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    try:
        unpacked = unpacker.decompress(body, bytes_max + 1)
    except zlib.error as error:
        raise MalformedBody(f"the gzip data is damaged: {error}") from error
    if len(unpacked) > bytes_max:
        raise BodyTooLarge(f"more than {bytes_max} bytes after unpacking")
    if not unpacker.eof or unpacker.unused_data:
        raise MalformedBody("the gzip data ends early or is followed by other data")
    return unpacked


def records(body: bytes) -> list[Document]:
    """The records of a JSON object or list, each still undecoded.

    JSON has no NaN or Infinity, but Python's writers emit them: such a body is read the slow way, so that only the
    records that contain them are rejected.
    """
    is_list = body.lstrip(JSON_BLANKS)[:1] == b"["
    try:
        return msgspec.json.decode(body, type=list[msgspec.Raw]) if is_list else [_checked(body)]
    except RecursionError as error:
        raise MalformedBody("the JSON is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _read_slowly(body, str(error))


def lines(body: bytes) -> Iterator[Document | MalformedBody]:
    """The records of a JSON Lines body; a line that is not JSON is returned as its error, in its place."""
    for line in body.splitlines():
        if line.strip(JSON_BLANKS):
            try:
                yield from records(line)
            except MalformedBody as error:
                yield error


def _checked(body: bytes) -> msgspec.Raw:
    return msgspec.json.decode(body, type=msgspec.Raw)


def _read_slowly(body: bytes, reason: str) -> list[Document]:
    try:
        document = json.loads(body)
    except RecursionError as error:
        raise MalformedBody("the JSON is nested too deeply") from error
    except ValueError as error:
        raise MalformedBody(f"not JSON: {reason}") from error
    whole = _encodable(document)
    return whole if isinstance(whole, list) else [whole]


def _encodable(value: object) -> Any:
    """The same document with unpaired surrogates replaced by U+FFFD, because these can be neither stored nor sent."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
