"""Reading lines of a file that somebody else made: in bounded memory, however long a line is."""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

LINE_BYTES_MAX = 256 * 1024
"""A learning document has some kB; a longer line is rejected and read past in pieces of this size."""


OPENING, CLOSING = b"[", b"]"
NO_ITEM = (b"", OPENING, CLOSING)

BOM = b"\xef\xbb\xbf"
"""What some editors write before UTF-8; it is read past."""


class HashedLines:
    """The lines of a file with their numbers from 1; `digest` is of all bytes once they are read.

    A JSON array with an item a line, as `learning` is exported, is read as lines too; `is_cut_off` then is whether its
    end was missing. `start` has the first two bytes.
    """

    def __init__(self, file: BinaryIO, bytes_max: int = LINE_BYTES_MAX) -> None:
        self._file, self._bytes_max = file, bytes_max
        self._hash = hashlib.sha256()
        self.start, self.is_cut_off = b"", False

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        """(number, line), None for a line that is too long; lines without an item are left out."""
        number = 0
        while piece := self._read():
            number += 1
            if self._is_cut(piece):
                while self._is_cut(piece):
                    piece = self._read()
                yield number, None
                continue
            line = (piece.removeprefix(BOM) if number == 1 else piece).strip().removesuffix(b",")
            if line not in NO_ITEM:
                yield number, line
            elif line:
                self.is_cut_off = line == OPENING

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def _read(self) -> bytes:
        piece = self._file.readline(self._bytes_max)
        self._hash.update(piece)
        self.start = self.start or piece[:2]
        return piece

    def _is_cut(self, piece: bytes) -> bool:
        return len(piece) == self._bytes_max and not piece.endswith(b"\n")
