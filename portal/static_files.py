"""Static files under addresses that hold a hash of their content, cached for long and sent compressed.

No collecting step is needed: the files are served from where they are, and compressed copies are made when a process
starts. The plain addresses work as well, for a minute in a cache.
"""

import gzip
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

HASH_DIGITS = 12
COMPRESSED = (".css", ".js", ".svg", ".txt")
COMPRESSED_BYTES_MIN = 500
"""Smaller files fit one packet as they are."""


class HashedAddresses(StaticFilesStorage):
    """Names in templates become hashed addresses."""

    def url(self, name: str | None) -> str:
        return super().url(hashed_name(name) if name else name)


class StaticFiles(WhiteNoiseMiddleware):
    """Serves each file under both of its addresses; WhiteNoise takes the hashed one for unchangeable."""

    def add_file_to_dictionary(
        self, url: str, path: str, stat_cache: Mapping[str, os.stat_result] | None = None
    ) -> None:
        hashed = self.static_prefix + hashed_name(url.removeprefix(self.static_prefix))
        for address in {url, hashed}:
            super().add_file_to_dictionary(address, path, stat_cache=stat_cache)

    def get_static_file(
        self, path: str, url: str, stat_cache: Mapping[str, os.stat_result] | None = None
    ) -> StaticFile:
        copy = compressed(path)
        if copy is None:
            return super().get_static_file(path, url, stat_cache=stat_cache)
        headers = Headers([])
        self.add_mime_headers(headers, path, url)
        self.add_cache_headers(headers, path, url)
        return StaticFile(path, headers.items(), encodings={"gzip": copy})


@cache
def hashed_name(name: str) -> str:
    """`css/portal.css` as `css/portal.0123456789ab.css`; a name that no file has stays as it is."""
    path, (stem, dot, suffix) = finders.find(name), name.rpartition(".")
    if not dot or not isinstance(path, str) or not os.path.isfile(path):
        return name
    return f"{stem}.{hashlib.sha256(Path(path).read_bytes()).hexdigest()[:HASH_DIGITS]}.{suffix}"


@cache
def compressed(path: str) -> str | None:
    """The compressed copy of a file; None where that is not worth it, or where nothing can be written."""
    if not path.endswith(COMPRESSED):
        return None
    content = Path(path).read_bytes()
    if len(content) < COMPRESSED_BYTES_MIN:
        return None
    copy = settings.VAR_DIR / "static" / f"{hashlib.sha256(content).hexdigest()}.gz"
    try:
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Several processes may start at once: each replaces the copy by an equal one.
            unfinished = copy.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(gzip.compress(content, mtime=0))
            os.replace(unfinished, copy)
    except OSError:
        return None
    return str(copy) if os.access(copy, os.R_OK) else None
