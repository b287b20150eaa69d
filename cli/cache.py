"""Answers that were read before, for when the portal cannot be reached; each file states when it was read.

A file is bound to a portal, a token and the address of the call. It may be damaged, cut or written by anybody who got
at this account: it is read within its limit, and anything unexpected in it counts as nothing stored.
"""

from __future__ import annotations

import hashlib
import time

from cli.private_files import PrivateFolder, Unsafe, base_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRIES_MAX, BYTES_MAX, ENTRY_BYTES_MAX = 200, 16 << 20, 2 << 20
AGE_S_MAX = 30 * 86400
"""Older answers are not shown: what a month ago was the latest job helps nobody."""
AHEAD_S_MAX = 3600
"""How far the clock may have been set back since."""
MARK = b"kaiku-cache/1"


class Cache:
    """The stored answers of one portal and token; never raises, since an answer that is not stored is no failure."""

    def __init__(self, environ: Mapping[str, str], portal: str, token: str) -> None:
        self.folder = PrivateFolder(base_folder(environ, "XDG_CACHE_HOME", ".cache"), "answers")
        self._whose = _digest(portal, token)[:24]

    def get(self, call: str) -> tuple[bytes, float] | None:
        """What was stored for a call (path and query), and its age in seconds; None for nothing."""
        try:
            written = self.folder.read(self._name(call), ENTRY_BYTES_MAX + 256)
        except (OSError, Unsafe):
            return None
        head, _, content = written.partition(b"\n")
        parts = head.split(b" ")
        if len(parts) != 4 or parts[0] != MARK or parts[3] != str(len(content)).encode():
            return None
        if parts[2] != _digest(call).encode() or not parts[1].isdigit() or len(parts[1]) > 12:
            return None
        age_s = time.time() - int(parts[1])
        return (content, max(age_s, 0.0)) if -AHEAD_S_MAX <= age_s <= AGE_S_MAX else None

    def put(self, call: str, content: bytes) -> None:
        """Store an answer, and delete the oldest ones beyond the limits."""
        if len(content) > ENTRY_BYTES_MAX:
            return
        head = b" ".join([MARK, str(int(time.time())).encode(), _digest(call).encode(), str(len(content)).encode()])
        try:
            self.folder.write(self._name(call), head + b"\n" + content)
            self._prune()
        except (OSError, Unsafe):
            return

    def clear(self) -> None:
        """Delete every answer of this portal and token."""
        try:
            for name, _, _ in self.folder.files():
                if name.startswith(self._whose):
                    self.folder.remove(name)
        except (OSError, Unsafe):
            return

    def _prune(self) -> None:
        files = sorted(self.folder.files(), key=lambda file: -file[1])
        kept_bytes = 0
        for number, (name, _, size) in enumerate(files):
            kept_bytes += size
            if number >= ENTRIES_MAX or kept_bytes > BYTES_MAX:
                self.folder.remove(name)

    def _name(self, call: str) -> str:
        return f"{self._whose}-{_digest(call)[:32]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
