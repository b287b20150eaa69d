"""The real parts that tests need, how each is found on this machine, and what becomes of a test where one is missing.

A test names them as `@pytest.mark.needs("nginx", "root")`, a fixture or a helper with `need("nginx")`. Such a test is
left out with its reason, or fails with KAIKU_TEST_REQUIRE=all. `python -m tests.parts` lists what is here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import psycopg
import pytest
import redis
from django.db import connection

from tests.filter_installer import installer

IS_ALL_REQUIRED = os.environ.get("KAIKU_TEST_REQUIRE") == "all"
REDIS_URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
DATABASE_URL = os.environ.get("TEST_DATABASE_URL", "postgres://root@127.0.0.1:5432/postgres")
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
"""Where daemons are, also for a user whose PATH leaves them out."""
ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CLIENTS = Path(sys.prefix) / "clients"
"""Where tests/clients/install puts MLflow's."""
FAKETIME = "usr/lib/*/faketime/libfaketime.so.1"
SYSTEM_LOG = Path("/dev/log")
GROUPS = Path("/sys/fs/cgroup")
GROUP_CONTROLLERS = ("memory", "cpuacct", "freezer")
COLLECTOR_PLACES = [Path(path) for path in ("/opt/kaiku", "/etc/kaiku", "/var/lib/kaiku", "/run/kaiku")]


@dataclass(frozen=True)
class Part:
    """Programs on the PATH, one of these files, one of these libraries, other parts, and whatever else must hold."""

    programs: str = ""
    files: str = ""
    """A pattern below `/`."""
    libraries: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    holds: Callable[[], object] = lambda: True
    is_required: bool = True
    """With KAIKU_TEST_REQUIRE=all; what depends on the kind of machine never is."""

    def lacking(self) -> str:
        """What of it is not here, in words; empty where all is."""
        lacking = [name for name in self.programs.split() if found(name) is None]
        if self.files and not any(Path("/").glob(self.files)):
            lacking.append(f"/{self.files}")
        if self.libraries and not any(map(_loads, self.libraries)):
            lacking.append(self.libraries[0])
        lacking += [name for name in self.parts if absent(name)]
        if not lacking and not self.holds():
            return "not here"
        return ", ".join(lacking)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _redis_answers() -> bool:
    try:
        return bool(redis.from_url(REDIS_URL).ping())
    except redis.ConnectionError:
        return False


def _postgresql_answers() -> bool:
    try:
        psycopg.connect(DATABASE_URL, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _may_part_networks() -> bool:
    return subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


def _may_mount() -> bool:
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def _has_kernel_log() -> bool:
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _has_groups_of_version_1() -> bool:
    for controller in GROUP_CONTROLLERS:
        probe = GROUPS / controller / f"kaiku-{os.getpid()}"
        try:
            probe.mkdir()
            probe.rmdir()
        except OSError:
            return False
    return True


@cache
def found(program: str) -> str | None:
    """The path of a program: of this environment, of the PATH, or of a system's folders."""
    return shutil.which(program, path=f"{PATH}:{BIN}")


@cache
def _python(version: str) -> str | None:
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    return str(of_pyenv[-1]) if of_pyenv else found(f"python{version}")


PARTS = {
    "root": Part(holds=lambda: os.geteuid() == 0),
    "an ordinary user": Part(holds=lambda: os.geteuid() != 0, is_required=False),
    "Slurm": Part(
        "munged mariadbd mariadb-install-db slurmdbd slurmctld slurmd sbatch srun squeue sinfo sacct sacctmgr scancel"
        " scontrol",
        parts=("root",),
    ),
    "Lua": Part(libraries=tuple(installer().LIBRARIES)),
    "nginx": Part("nginx"),
    "Prometheus": Part("prometheus"),
    "promtool": Part("promtool"),
    "Chromium": Part("chromium", holds=lambda: importlib.util.find_spec("playwright") is not None),
    "PostgreSQL": Part(holds=_postgresql_answers),
    "the tests' PostgreSQL": Part(holds=lambda: connection.vendor == "postgresql", is_required=False),
    "PostgreSQL's programs": Part(files="usr/lib/postgresql/*/bin/initdb"),
    "pg_dump": Part("pg_dump pg_restore"),
    "pg_createcluster": Part("pg_createcluster"),
    "Redis": Part(holds=_redis_answers),
    "redis-server": Part("redis-server"),
    "systemd-analyze": Part("systemd-analyze"),
    "network namespaces": Part("ip unshare nsenter", parts=("root",), holds=_may_part_networks),
    "mounts": Part("mount umount", parts=("root",), holds=_may_mount),
    "setpriv": Part("setpriv"),
    "libfaketime": Part(files=FAKETIME),
    "openssl": Part("openssl"),
    "curl": Part("curl"),
    "git": Part("git", holds=(ROOT / ".git").exists),
    "a C compiler": Part("gcc"),
    "Canaille": Part(holds=lambda: importlib.util.find_spec("canaille") is not None),
    "squawk": Part("squawk"),
    "MLflow 2": Part(holds=lambda: (CLIENTS / "mlflow-2").exists()),
    "MLflow 3": Part(holds=lambda: (CLIENTS / "mlflow-3").exists()),
    "rpmbuild": Part("rpmbuild rpm", parts=("root",), is_required=False),
    "a Debian without the collector": Part(
        "dpkg dpkg-deb", holds=lambda: not any(path.exists() for path in COLLECTOR_PLACES), is_required=False
    ),
    "the kernel's log": Part(parts=("root",), holds=_has_kernel_log, is_required=False),
    "no system log": Part(
        holds=lambda: not SYSTEM_LOG.exists() and os.access(SYSTEM_LOG.parent, os.W_OK), is_required=False
    ),
    "control groups of version 1": Part(holds=_has_groups_of_version_1, is_required=False),
    "several processes of the suite": Part(holds=lambda: "PYTEST_XDIST_WORKER" in os.environ, is_required=False),
    **{
        f"Python {version}": Part(holds=partial(_python, version), is_required=False)
        for version in ("2.7", *(f"3.{minor}" for minor in range(6, 15)))
    },
}


asked: set[str] = set()
"""The parts that tests needed so far; `tests.uses` empties it before each."""


@cache
def absent(part: str) -> str:
    """Why a part cannot be used here; empty where it can."""
    lacking = PARTS[part].lacking()
    return f"{part} ({lacking})" if lacking not in ("", "not here") else f"{part}" if lacking else ""


def need(*parts: str) -> None:
    """Leave the running test out if one of these parts is missing, or fail it where every part is required."""
    asked.update(parts)
    lacking = {part: reason for part in parts if (reason := absent(part))}
    if not lacking:
        return
    if IS_ALL_REQUIRED and any(PARTS[part].is_required for part in lacking):
        pytest.fail(f"required here and missing: {'; '.join(lacking.values())}")
    pytest.skip(f"needs {'; '.join(lacking.values())}")


def program(name: str, part: str = "") -> str:
    """The path of a program that is a part of its own, or belongs to one."""
    need(part or name)
    path = found(name)
    assert path is not None
    return path


def python(version: str) -> str:
    """A Python of this version: of pyenv, or of the PATH."""
    need(f"Python {version}")
    path = _python(version)
    assert path is not None
    return path


def postgresql_programs() -> Path:
    """Where initdb and the server are, of the newest PostgreSQL."""
    need("PostgreSQL's programs")
    return max(Path("/").glob("usr/lib/postgresql/*/bin"), key=lambda path: float(path.parent.name))


def libfaketime() -> str:
    """The library that shifts the clock of a program it is loaded into."""
    need("libfaketime")
    return str(next(Path("/").glob(FAKETIME)))


def need_all_required(why: str) -> None:
    """Leave out what takes too long for every run."""
    if not IS_ALL_REQUIRED:
        pytest.skip(f"{why}: with KAIKU_TEST_REQUIRE=all")


def empty_redis() -> redis.Redis:
    """The Redis of the tests, emptied."""
    need("Redis")
    store = redis.from_url(REDIS_URL)
    store.flushdb()
    return store


def every_file() -> set[Path]:
    """Whatever of the parts lies below /usr on this machine: each program wherever it is, each file and library."""
    folders = [Path(folder) for folder in PATH.split(os.pathsep)]
    programs = {folder / name for part in PARTS.values() for name in part.programs.split() for folder in folders}
    patterns = [part.files for part in PARTS.values() if part.files]
    patterns += [f"usr/lib/{where}{name}" for part in PARTS.values() for name in part.libraries for where in ("", "*/")]
    known = {path for pattern in patterns for path in Path("/").glob(pattern)} | programs
    # A program can be a link to the one that does its work, and /bin one to /usr/bin.
    there = {path.parent.resolve() / path.name for path in known if path.exists()}
    return {each for path in there for each in (path, path.resolve()) if each.is_relative_to("/usr")}


if __name__ == "__main__":
    for name in PARTS:
        if not name.startswith(("the tests'", "several")):
            print(f"{name}: {'missing' if absent(name) else 'here'}")
