"""A folder of this person alone under an XDG base directory, and small files in it.

Everything goes through the opened folder, so that no link or rename in between leads elsewhere: a file is never read
through a symbolic link, never if somebody else owns it or may read it, and is replaced as a whole.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "kaiku"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NOWHERE = "/nonexistent"
CHECK_BYTES = 4096
"""No stored token takes more."""


class Unsafe(Exception):
    """A folder or file that is not this person's alone; the message names it and what to do."""


def base_folder(environ: Mapping[str, str], variable: str, default: str) -> str:
    """The folder under `$XDG_…`, or under the home directory; XDG says that a relative path there is ignored."""
    named, home = environ.get(variable, ""), environ.get("HOME", "")
    if not named.startswith("/"):
        named = os.path.join(home if home.startswith("/") else _listed_home(), default)
    return os.path.join(named, FOLDER)


def _listed_home() -> str:
    """The home directory that the system lists for this person; a folder that is nowhere if it lists none."""
    pwd = __import__("pwd")
    try:
        listed: str = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        listed = ""
    return listed if listed.startswith("/") else NOWHERE


class PrivateFolder:
    """One folder, `name` under `base`, opened when it is first needed. All methods raise OSError and Unsafe."""

    def __init__(self, base: str, name: str) -> None:
        self.path = os.path.join(base, name)
        self._base = base

    def read(self, name: str, bytes_max: int) -> bytes:
        """The content of a file of at most this size."""
        with _Opened(self.path) as folder:
            return _read(folder, name, self.path, bytes_max)

    def write(self, name: str, written: bytes) -> None:
        """Replace a file as a whole, readable by its owner alone; the folder is created if necessary."""
        with _Part(self._made(), name, written) as part:
            part.rename(name)

    def replace(self, name: str, written: bytes, bytes_max: int) -> list[bytes]:
        """The same, on the disk when this returns; returns what it took the place of, where that can be read.

        Of several programs at once exactly one takes each file away, and gets its content: none is replaced unseen.
        """
        taken: list[bytes] = []
        with _Part(self._made(), name, written, is_synced=True) as part:
            while not part.link(name):
                taken += self._taken(part.folder, name, bytes_max)
        return taken

    def check_writing(self) -> None:
        """Write a file of the usual size, and delete it."""
        with _Part(self._made(), "check", bytes(CHECK_BYTES), is_synced=True):
            return

    def _taken(self, folder: int, name: str, bytes_max: int) -> list[bytes]:
        """Whoever renames a file has it alone."""
        own = _own_name(name)
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise Unsafe(f"{os.path.join(self.path, name)} is not a plain file")
            os.rename(name, own, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return []
        try:
            return [_read(folder, own, self.path, bytes_max)]
        except (OSError, Unsafe):
            return []
        finally:
            os.unlink(own, dir_fd=folder)

    def _made(self) -> str:
        os.makedirs(self._base, mode=0o700, exist_ok=True)
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        return self.path

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


def _read(folder: int, name: str, path: str, bytes_max: int) -> bytes:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        _refuse_link(error, os.path.join(path, name))
        raise
    return content(descriptor, os.path.join(path, name), bytes_max)


def _refuse_link(error: OSError, path: str) -> None:
    """Raises Unsafe if a link is the reason: the system's own words for it name no file."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.islink(path):
        raise Unsafe(f"{path} is a symbolic link, which is not followed: remove it") from error


def _own_name(name: str) -> str:
    """A hidden name beside a file, which no other program uses."""
    return f".{name[:200]}.{os.getpid()}.{os.urandom(4).hex()}"


def content(descriptor: int, path: str, bytes_max: int) -> bytes:
    """What an opened file contains; it is closed. Raises Unsafe if it is not a plain file of this person alone."""
    said = os.fstat(descriptor)
    if not stat.S_ISREG(said.st_mode):
        os.close(descriptor)
        raise Unsafe(f"{path} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
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
        try:
            self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            _refuse_link(error, self.path)
            raise
        said = os.fstat(self.descriptor)
        if said.st_uid != os.geteuid() or said.st_mode & OTHERS_WRITE:
            os.close(self.descriptor)
            raise Unsafe(f"{self.path} must belong to you, and nobody else may write to it: chmod 700 it")
        return self.descriptor

    def __exit__(self, *error: object) -> None:
        os.close(self.descriptor)


class _Part:
    """A whole file in a folder under a name of its own, readable by its owner alone; deleted unless it was renamed."""

    def __init__(self, path: str, name: str, written: bytes, *, is_synced: bool = False) -> None:
        self._opened, self._name, self._written, self._is_synced = _Opened(path), _own_name(name), written, is_synced

    def __enter__(self) -> _Part:
        self.folder = self._opened.__enter__()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._name, flags, 0o600, dir_fd=self.folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._written)
                file.flush()
                if self._is_synced:
                    # A full disk, or a quota, may show only now.
                    os.fsync(descriptor)
        except BaseException:
            self.__exit__()
            raise
        return self

    def rename(self, name: str) -> None:
        """Give it this name, in place of what has it."""
        os.rename(self._name, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def link(self, name: str) -> bool:
        """Give it this name; False if something else has it."""
        try:
            os.link(self._name, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except FileExistsError:
            return False
        except OSError:
            # A file system without hard links.
            try:
                os.stat(name, dir_fd=self.folder, follow_symlinks=False)
                return False
            except FileNotFoundError:
                self.rename(name)
        return True

    def __exit__(self, *error: object) -> None:
        try:
            os.unlink(self._name, dir_fd=self.folder)
        except FileNotFoundError:
            pass
        finally:
            self._opened.__exit__()
