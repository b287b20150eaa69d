"""Files of hints, good and bad, in the home directory of a person who submits jobs."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from tests.slurm.cluster import CLUSTER, USER

PERSON = pwd.getpwnam(USER)
PROJECT, NAME = "project_465000001", "train_llama_v2"
LINES = ("kaiku: 9 of your last 10 runs used 2 of 8 GPUs.", "kaiku: request --gpus=2")
BODY = f"work\t{CLUSTER}\t{PROJECT}\nname\ttrain-llama\nname\t{NAME}\nline\t{LINES[0]}\nline\t{LINES[1]}\n"
HOUR_S, DAY_S = 3600, 86400


def written(body: str = BODY, *, age_s: float = 0, due_in_s: float = HOUR_S, is_on: bool = True) -> bytes:
    """A file as kaiku writes it."""
    now_s = time.time()
    return f"kaiku-hints/1 {int(now_s - age_s)} {int(now_s + due_in_s)} {int(is_on)}\n{body}end\n".encode()


def new_home(home: Path) -> Path:
    """An empty home directory; the place of the file in it."""
    shutil.rmtree(home, ignore_errors=True)
    folder = home / ".cache/kaiku/hints"
    folder.mkdir(parents=True)
    for path in (home, *folder.parents, folder):
        if path.is_relative_to(home):
            owned(path, 0o700)
    return folder / "hints"


def owned(path: Path, mode: int = 0o600) -> None:
    os.chown(path, PERSON.pw_uid, PERSON.pw_gid)
    path.chmod(mode)


def put(place: Path, content: bytes, mode: int = 0o600) -> None:
    place.write_bytes(content)
    owned(place, mode)


def _pipe(place: Path) -> None:
    os.mkfifo(place)
    owned(place)


def _folder(place: Path) -> None:
    place.mkdir()
    owned(place, 0o700)


def _link(place: Path) -> None:
    put(place.with_name("other"), written())
    place.symlink_to("other")


def _huge(place: Path) -> None:
    put(place, written())
    os.truncate(place, 100 << 20)


def _of_somebody_else(place: Path) -> None:
    place.write_bytes(written())


def _loose_folder(place: Path) -> None:
    put(place, written())
    place.parent.chmod(0o770)


def _folder_of_somebody_else(place: Path) -> None:
    put(place, written())
    os.chown(place.parent, 0, 0)
    place.parent.chmod(0o755)


def _with(content: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    return lambda place: put(place, content, mode)


BAD: dict[str, Callable[[Path], None]] = {
    "missing": lambda place: None,
    "no folder": lambda place: place.parent.rmdir(),
    "a pipe that nobody writes to": _pipe,
    "a folder": _folder,
    "a link": _link,
    "100 MB": _huge,
    "of somebody else": _of_somebody_else,
    "writable by others": _with(written(), 0o620),
    "not readable": _with(written(), 0o000),
    "in a folder that others may write to": _loose_folder,
    "in a folder of somebody else": _folder_of_somebody_else,
    "empty": _with(b""),
    "garbage": _with(bytes(range(256)) * 100),
    "zeros": _with(bytes(60_000)),
    "cut": _with(written()[:-1]),
    "cut before a line": _with(written()[:-5]),
    "one long line": _with(b"kaiku-hints/1 1 1 1\n" + b"x" * 60_000 + b"\nend\n"),
    "another version": _with(written().replace(b"hints/1", b"hints/2")),
    "numbers without an end": _with(b"kaiku-hints/1 " + b"9" * 400 + b" 1 1\n" + BODY.encode() + b"end\n"),
    "old": _with(written(age_s=15 * DAY_S)),
    "from the future": _with(written(age_s=-DAY_S)),
    "switched off": _with(written(is_on=False)),
    "of another project": _with(written(BODY.replace(PROJECT, "project_465000002"))),
    "of another cluster": _with(written(BODY.replace(CLUSTER, "other"))),
    "of two works": _with(written(BODY + BODY)),
    "records in disorder": _with(written("line\tx\nname\ty\nwork\nwork\t\n\t\t\n" * 500)),
}
"""Each makes something in the place of the file, of which nothing must be shown."""
