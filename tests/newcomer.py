"""Run a command as somebody has this machine who is new to it: without the real parts, or as an ordinary user.

    python -m tests.newcomer [--without-parts] [--user NAME] FOLDER COMMAND…

Root alone can do this. In a mount namespace of its own, which this makes before anything else, no file of the table
of parts is there; in a network of its own nothing answers but what the command starts. An ordinary user works in a
checkout of theirs.
FOLDER is an empty one that everybody may enter; whoever made it deletes it once the namespace, with what is mounted
there, is gone.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pwd
import subprocess
import sys
from pathlib import Path

from tests.parts import every_file

ROOT = Path(__file__).resolve().parents[1]
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
SEARCH = 0o001


def leave_the_machine() -> None:
    """Mounts and the network are this process's own from here on: what it takes away stays where it is for others."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"namespaces: {os.strerror(number)}")
    mount("none", Path("/"), flags=MS_REC | MS_PRIVATE)


def mount(source: str, target: Path, kind: str = "none", flags: int = 0, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), os.fsencode(target), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def take_away(paths: set[Path], folder: Path) -> None:
    """Nothing is at these paths below /usr any more, for whoever is in this namespace."""
    over = folder / "over"
    over.mkdir()
    mount("none", over, "tmpfs")
    for name in ("changed", "work"):
        (over / name).mkdir()
    mount("none", Path("/usr"), "overlay", data=f"lowerdir=/usr,upperdir={over}/changed,workdir={over}/work")
    for path in paths:
        path.unlink()


def let_in(path: Path, folder: Path) -> None:
    """Everybody can enter what leads to a path: a folder that is somebody's own is one with that path alone."""
    closed = [parent for parent in reversed(path.parents) if not parent.stat().st_mode & SEARCH]
    if closed:
        kept = folder / f"kept-{path.name}"
        kept.mkdir()
        mount(str(path), kept, flags=MS_BIND | MS_REC)
        mount("none", closed[0], "tmpfs", data="mode=755")
        path.mkdir(parents=True)
        mount(str(kept), path, flags=MS_BIND | MS_REC)


def checkout(folder: Path, user: pwd.struct_passwd) -> Path:
    """The files of this checkout in a folder of the user's, with this environment of Python."""
    theirs = folder / "kaiku"
    theirs.mkdir()
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    copy = ["tar", "--create", "--null", "--files-from=-", "--ignore-failed-read"]
    packed = subprocess.run(copy, cwd=ROOT, input=files, check=True, capture_output=True).stdout
    subprocess.run(["tar", "--extract"], cwd=theirs, input=packed, check=True)
    (theirs / ".venv").symlink_to(sys.prefix)
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    return theirs


def become(user: pwd.struct_passwd, home: Path) -> None:
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    (home / "tmp").mkdir()
    os.environ |= {"HOME": str(home), "USER": user.pw_name, "LOGNAME": user.pw_name, "TMPDIR": str(home / "tmp")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-parts", action="store_true")
    parser.add_argument("--user", type=pwd.getpwnam)
    parser.add_argument("folder", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    leave_the_machine()
    folder = asked.folder
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    place = checkout(folder, asked.user) if asked.user else ROOT
    if asked.user:
        for path in {Path(sys.prefix), Path(sys.base_prefix)}:
            let_in(path, folder)
        home = folder / "home"
        home.mkdir()
        os.chown(home, asked.user.pw_uid, asked.user.pw_gid)
    if asked.without_parts:
        take_away(every_file(), folder)
    if asked.user:
        become(asked.user, home)
    os.chdir(place)
    os.execvp(asked.command[0], asked.command)


if __name__ == "__main__":
    main()
