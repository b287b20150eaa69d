"""Writing whole files: to a folder, or as objects of a store; what was written is there, or an error says why not."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

from reports.performance.targets.address import UNFINISHED, Address, Bucket, Folder
from reports.performance.targets.faults import TargetError, fault_of

FILE_MODE, FOLDER_MODE = 0o640, 0o750
ABANDONED_S = 86_400
"""No try takes so long: an unfinished file of this age was left by a process that was killed."""

CONNECT_S, ANSWER_S = 5.0, 15.0
"""How long a store may take to be reached, and how long it may be silent; with one more try half a minute in all."""
TRIES = 2


class Store(Protocol):
    """Takes whole files; they are only sure to be kept when the block of `opened` has ended."""

    def put(self, name: str, content: bytes) -> None:
        """Write one file as a whole, in place of one with this name. Raises TargetError."""


@contextmanager
def opened(address: Address) -> Iterator[Store]:
    """A store for some files, all of which are kept once the block has ended. Raises TargetError."""
    if isinstance(address, Bucket):
        yield Objects(address)
        return
    files = Files(address)
    yield files
    files.sync()


class Files:
    """Files of a folder: each is written beside, synced and renamed, so that a reader sees it whole or not at all."""

    def __init__(self, address: Folder) -> None:
        self.folder = Path(address.path)
        self.unfinished = self.folder / UNFINISHED
        self.to_sync = {self.folder}
        with _as_fault():
            self.unfinished.mkdir(mode=FOLDER_MODE, exist_ok=True)
            _remove_abandoned(self.unfinished)

    def put(self, name: str, content: bytes) -> None:
        path, beside = self.folder / name, self.unfinished / secrets.token_hex(16)
        with _as_fault():
            try:
                self._make(path.parent)
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
                    os.fchmod(file.fileno(), FILE_MODE)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(path)
            finally:
                with suppress(OSError):
                    beside.unlink(missing_ok=True)

    def sync(self) -> None:
        """Have the names of all written files kept through a loss of power."""
        with _as_fault():
            for folder in sorted(self.to_sync):
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def _make(self, folder: Path) -> None:
        """The folder of a file, within the target, which itself is never created."""
        if folder in self.to_sync:
            return
        self._make(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        self.to_sync.add(folder)


class Objects:
    """Objects of a bucket: each is put in one call, after whose answer the store has it."""

    def __init__(self, address: Bucket) -> None:
        scheme, _, host = address.endpoint.partition("://")
        self.folder = "/".join(filter(None, (address.name, address.prefix)))
        self.system = S3FileSystem(
            access_key=address.access_key,
            secret_key=address.secret_key,
            region=address.region,
            scheme=scheme,
            endpoint_override=host,
            connect_timeout=CONNECT_S,
            request_timeout=ANSWER_S,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=TRIES),
            background_writes=False,
            allow_delayed_open=True,
        )

    def put(self, name: str, content: bytes) -> None:
        with _as_fault(), self.system.open_output_stream(f"{self.folder}/{name}") as stream:
            stream.write(content)


def _remove_abandoned(unfinished: Path) -> None:
    before = time.time() - ABANDONED_S
    for path in unfinished.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()


@contextmanager
def _as_fault() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetError(fault_of(error)) from error
