"""The ingest body: read up to its limit and no further, unpacked, undecoded."""

from __future__ import annotations

from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser

from portal.api.problems import Malformed, TooLarge
from portal.ingest.body import BodyTooLarge, MalformedBody, gunzip


class PayloadParser(BaseParser):
    """JSON bytes, gzip allowed; 400, 413 or 415 for anything else."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> bytes:
        bytes_max = settings.INGEST_BODY_BYTES_MAX
        encoding = parser_context["request"].META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            raise UnsupportedMediaType(encoding, f"Content-Encoding {encoding[:40]!r} is not known here; gzip is.")
        body = stream.read(bytes_max + 1)
        if len(body) > bytes_max:
            raise TooLarge(f"The body passes {bytes_max} bytes.")
        try:
            return gunzip(body, bytes_max) if encoding == "gzip" else body
        except BodyTooLarge as error:
            raise TooLarge(str(error)) from error
        except MalformedBody as error:
            raise Malformed(str(error)) from error
