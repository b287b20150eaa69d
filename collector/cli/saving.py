"""Writing a file that a person named: whole or not at all, and never over something else."""

from __future__ import annotations

import os

from collector.cli.errors import NoAnswer, Usage

PDF = b"%PDF-"


def replace_pdf(path: str, content: bytes) -> None:
    """Write a PDF under this name; an earlier PDF is replaced, so that a command can be repeated.

    Raises Usage if there is a file of another kind or it cannot be written, NoAnswer if the content is no PDF.
    """
    if not content.startswith(PDF):
        raise NoAnswer("the portal's answer is not a PDF: check KAIKU_URL")
    try:
        _refuse_other(path)
        folder, name = os.path.split(path)
        part = os.path.join(folder, f".{name[:200]}.{os.getpid()}.part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise Usage(f"{path}: {error.strerror or error}") from error


def _refuse_other(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if file.read(len(PDF)) != PDF:
            raise Usage(f"{path} exists and is not a PDF: choose another name")
