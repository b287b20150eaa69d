"""Files that a command writes for its user: whole or not at all; over another if told to, or a PDF over one."""

from __future__ import annotations

import os

from cli.errors import NoAnswer, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

PDF = b"%PDF-"


def write_new(path: str, content: bytes, *, mode: int, is_forced: bool = False) -> None:
    """Write a file beside its place and rename it there. Raises Usage if something is there already (a link counts),
    unless `is_forced`, if what is there is no file (a device, a folder), or if it cannot be written.
    """
    fill_new(path, lambda file: file.write(content), mode=mode, is_forced=is_forced)


def fill_new(path: str, fill: Callable[[BinaryIO], object], *, mode: int, is_forced: bool = False) -> None:
    """The same with what `fill` writes into the file; nothing stays of it where `fill` raises."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise Usage(f"{path[:200]!r} is not a file")
    if not is_forced and os.path.lexists(path):
        raise Usage(f"{path[:200]!r} exists: --force replaces it")
    temporary = f"{path}.{os.getpid()}.new"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                fill(file)
                file.flush()
                os.fchmod(descriptor, mode & 0o777)
                os.fsync(descriptor)
            _into_place(temporary, path, is_forced=is_forced)
        finally:
            if os.path.lexists(temporary):
                os.unlink(temporary)
    except (OSError, ValueError) as error:
        raise Usage(f"cannot write {path[:200]!r}: {getattr(error, 'strerror', None) or error}") from error


def new_folder(path: str) -> None:
    """Make a folder if nothing is there. Raises Usage if it cannot be made, or if something else is there."""
    try:
        os.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise Usage(f"{path[:200]!r} is not a folder") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Usage(f"cannot make the folder {path[:200]!r}: {why}") from error


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths are one file, by whatever names."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _into_place(temporary: str, path: str, *, is_forced: bool) -> None:
    if is_forced:
        os.replace(temporary, path)
        return
    try:
        # Fails if something came there meanwhile, which a rename would replace.
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: take the name first.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.replace(temporary, path)


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
