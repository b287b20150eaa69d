"""Files that commands write where an operator names them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import CommandError


def write_file(name: str, content: bytes) -> None:
    """Write a file; CommandError with its name and the reason where that is impossible."""
    try:
        Path(name).write_bytes(content)
    except OSError as error:
        raise CommandError(f"{name}: cannot be written: {error.strerror}") from error


def write_parts(name: str, parts: Iterable[bytes]) -> None:
    """Write a file part by part; it appears as a whole or not at all. CommandError as in `write_file`."""
    path = Path(name)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        try:
            with unfinished.open("wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{name}: cannot be written: {error.strerror}") from error
