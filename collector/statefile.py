"""Small files that are either complete or missing: a job's facts, its checkpoint, the node's calibration.

`marshal` is built into the interpreter, so a sampling process imports no encoder; only root can write to the folders.
"""

from __future__ import annotations

import marshal
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The last format without references to other objects: any Python 3 reads what another one wrote.
FORMAT = 2
TORN_S_MIN = 60.0


def save(path: str, value: Any, *, is_durable: bool = False) -> None:
    """Write a value of dicts, lists, text and numbers; `is_durable` waits for the disk. Raises OSError."""
    write_bytes(path, marshal.dumps(value, FORMAT), is_durable=is_durable)


def read(path: str) -> Any:
    """The value, or None if there is no file or it is incomplete."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            return marshal.loads(file.read())  # noqa: S302  our own file, in a folder of root's
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _at_once(path: str, flags: int) -> int:
    """A descriptor, of a pipe too without waiting for who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def write_bytes(path: str, content: bytes, *, is_durable: bool) -> None:
    """Write all or nothing: a new file beside it, then a rename. Raises OSError and leaves nothing behind."""
    beside = f"{path}.{os.getpid()}.new"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(fd, view) :]
            if is_durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(beside, path)
    except OSError:
        os.unlink(beside)
        raise
    if is_durable:
        sync_folder(os.path.dirname(path))


def listed(folder: str) -> list[str]:
    """The names in a folder, in order; none where there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def is_same(path: str, fd: int) -> bool:
    """Whether what is opened still has this name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def remove_torn(folder: str) -> None:
    """Remove incomplete files of a killed process: writing never takes longer than a minute."""
    try:
        for name in listed(folder):
            if name.endswith(".new") and time.time() - os.stat(f"{folder}/{name}").st_mtime > TORN_S_MIN:
                os.unlink(f"{folder}/{name}")
    except FileNotFoundError:
        return


def sync_folder(path: str) -> None:
    """Make renames and removals in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def private_folder(path: str) -> None:
    """Create a folder, and those above it, that only its owner can enter."""
    umask = os.umask(0o077)
    try:
        os.makedirs(path, exist_ok=True)
    finally:
        os.umask(umask)
