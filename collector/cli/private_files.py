"""A folder of this person alone under an XDG base directory, and small files in it.

Everything goes through the opened folder, so that no link or rename in between leads elsewhere: a file is never read
through a symbolic link, never if somebody else owns it or may read it, and is replaced as a whole.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "kaiku"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Unsafe(Exception):
    """A folder or file that is not this person's alone; the message names it and what to do."""


def base_folder(environ: Mapping[str, str], variable: str, default: str) -> str:
    """The folder under `$XDG_…`, or under the home directory; XDG says that a relative path there is ignored."""
    named = environ.get(variable, "")
    base = named if named.startswith("/") else os.path.join(os.path.expanduser("~"), default)
    return os.path.join(base, FOLDER)


class PrivateFolder:
    """One folder, `name` under `base`, opened when it is first needed. All methods raise OSError and Unsafe."""

    def __init__(self, base: str, name: str) -> None:
        self.path = os.path.join(base, name)
        self._base = base

    def read(self, name: str, bytes_max: int) -> bytes:
        """The content of a file of at most this size."""
        with _Opened(self.path) as folder:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            return content(descriptor, os.path.join(self.path, name), bytes_max)

    def write(self, name: str, written: bytes) -> None:
        """Replace a file as a whole, readable by its owner alone; the folder is created if necessary."""
        os.makedirs(self._base, mode=0o700, exist_ok=True)
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        with _Opened(self.path) as folder:
            part = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
            descriptor = os.open(
                part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(written)
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(part, dir_fd=folder)
                raise

    def remove(self, name: str) -> bool:
        """Delete a file, whatever it is; whether there was one."""
        try:
            with _Opened(self.path) as folder:
                os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return False
        return True

    def files(self) -> list[tuple[str, float, int]]:
        """Name, time of the last change and bytes of each file that is one."""
        found = []
        with _Opened(self.path) as folder:
            for name in os.listdir(folder):
                try:
                    said = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not stat.S_ISDIR(said.st_mode):
                    found.append((name, said.st_mtime, said.st_size))
        return found


def content(descriptor: int, path: str, bytes_max: int) -> bytes:
    """What an opened file contains; it is closed. Raises Unsafe if it is not a plain file of this person alone."""
    with os.fdopen(descriptor, "rb") as file:
        said = os.fstat(descriptor)
        if not stat.S_ISREG(said.st_mode):
            raise Unsafe(f"{path} is not a plain file")
        if said.st_uid != os.geteuid():
            raise Unsafe(f"{path} belongs to somebody else")
        if said.st_mode & OTHERS:
            raise Unsafe(f"{path} can be read by others: chmod 600 it")
        if said.st_size > bytes_max:
            raise Unsafe(f"{path} is too large")
        return file.read(bytes_max)


class _Opened:
    """The folder as a descriptor, which is this person's and which nobody else can write to."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> int:
        self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        said = os.fstat(self.descriptor)
        if said.st_uid != os.geteuid() or said.st_mode & OTHERS_WRITE:
            os.close(self.descriptor)
            raise Unsafe(f"{self.path} must belong to you, and nobody else may write to it: chmod 700 it")
        return self.descriptor

    def __exit__(self, *error: object) -> None:
        os.close(self.descriptor)
