"""Files that commands write where an operator names them."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from django.core.management.base import CommandError

from jobs.processes.names import is_known_to_be_gone, this_process

UNFINISHED = ".unfinished"


def write_file(name: str, content: bytes) -> None:
    """Write a file; CommandError with its name and the reason where that is impossible."""
    try:
        Path(name).write_bytes(content)
    except OSError as error:
        raise CommandError(f"{name}: cannot be written: {error.strerror}") from error


def write_to_standard_output(parts: Iterable[bytes]) -> None:
    """Write parts as they are, to where the command prints."""
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.flush()


def write_report(content: bytes, name: str | None, form: str) -> None:
    """Write a report to the file of this name, or print it; CommandError for a PDF in a terminal."""
    if name:
        write_file(name, content)
    elif form == "pdf" and sys.stdout.isatty():
        raise CommandError("a PDF cannot be written to the terminal; name a file with -o")
    else:
        write_to_standard_output([content])


def write_parts(name: str, parts: Iterable[bytes]) -> None:
    """Write a file part by part; it appears as a whole or not at all. CommandError as in `write_file`.

    What a process that was killed left of the same file is removed.
    """
    path = Path(name)
    unfinished = path.with_name(f".{path.name}.{quote(this_process(), safe='')}{UNFINISHED}")
    try:
        _remove_left(path)
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


def _remove_left(path: Path) -> None:
    """Remove unfinished files whose process has ended; those of other hosts may be in the making."""
    start = f".{path.name}."
    for each in path.parent.iterdir():
        if each.name.startswith(start) and each.name.endswith(UNFINISHED):
            process = unquote(each.name.removeprefix(start).removesuffix(UNFINISHED))
            with suppress(OSError, ValueError):
                if is_known_to_be_gone(process):
                    each.unlink()
