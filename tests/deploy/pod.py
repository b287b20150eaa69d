"""Services of compose.yaml on this machine: a network of their own, and for each what `container.sh` makes of it.

Images are not there: programs are this machine's, `/opt/kaiku` is this tree. All else is taken from the file.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.parts import postgresql_programs
from tests.processes import PATIENCE_S, children, wait_until

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOSTS = "127.0.0.1 localhost postgres redis portal ingest {name}\n"
PATH = "/opt/kaiku/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What the Dockerfile's last steps leave in the image of the proxy.
IMAGE_LINKS = ["link /dev/stdout /var/log/nginx/access.log", "link /dev/stderr /var/log/nginx/error.log"]


class Pod:
    """What runs, by the name of the service."""

    def __init__(self, top: Path, composition: dict[str, Any], name: str) -> None:
        self.top, self.composition = top, composition
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        (top / "hosts").write_text(HOSTS.format(name=name))
        top.chmod(0o755)
        script = (
            "ip link set lo up; hostname pod; sysctl -qw net.ipv4.ip_unprivileged_port_start=0; exec sleep infinity"
        )
        self.network = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-ec", script], start_new_session=True)
        own, its = (Path(f"/proc/{pid}/ns/net") for pid in ("self", self.network.pid))
        try:
            wait_until("a network of its own", lambda: own.readlink() != its.readlink())
            wait_until("its loopback", lambda: self.inside("ip", "-o", "link", "show", "up", "lo").stdout)
        except BaseException:
            self.stop()
            raise

    def inside(self, *command: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """A command of this machine in the network of the pod."""
        entry = ["nsenter", "--target", str(self.network.pid), "--net", "--uts", *command]
        return subprocess.run(entry, capture_output=True, check=False, timeout=PATIENCE_S, **options)

    def start(self, name: str) -> None:
        """Begin a service as the file says, and wait for nothing."""
        service = self.composition["services"][name]
        user, group = numbers(str(service["user"]))
        scratch = self.top / f"scratch-{name}"
        scratch.mkdir(exist_ok=True)
        command = list(map(str, service["command"]))
        if name == "postgres":
            command = ["/opt/kaiku/tests/deploy/postgres-entrypoint.sh", *command]
        read_only = "yes" if service["read_only"] else "no"
        contained = [str(HERE / "container.sh"), str(scratch), str(user), str(group), workdir(name), read_only, "--"]
        spaces = ["--mount", "--pid", "--fork", "--kill-child=KILL"]
        network = ["nsenter", "--target", str(self.network.pid), "--net", "--uts"]
        mounts = "".join(f"{line}\n" for line in self.mounts(name, user, group))
        log = self.log(name)
        log.touch()
        os.chown(log, user, group)
        with log.open("ab") as output:
            self.running[name] = subprocess.Popen(
                [*network, "unshare", *spaces, *contained, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment(service),
                start_new_session=True,
            )
        stdin = self.running[name].stdin
        assert stdin is not None
        with stdin:
            stdin.write(mounts.encode())

    def mounts(self, name: str, user: int, group: int) -> list[str]:
        """Lines for container.sh: the tree, the names, then the service's own tmpfs, secrets and volumes."""
        service = self.composition["services"][name]
        lines = ["tmpfs mode=755 /opt", f"bind {ROOT} /opt/kaiku", f"bind {self.top}/hosts /etc/hosts"]
        if name == "proxy":
            lines += IMAGE_LINKS
        for each in service.get("tmpfs", []):
            path, _, options = each.partition(":")
            lines.append(f"tmpfs {options or 'mode=755'} {path}")
        for secret in service.get("secrets", []):
            lines.append(f"bind {self.composition['secrets'][secret]['file']} /run/secrets/{secret}")
        for volume in service.get("volumes", []):
            source, target, *_ = volume.split(":")
            lines.append(f"bind {self._volume(source, user, group)} {target}")
        return lines

    def _volume(self, source: str, user: int, group: int) -> Path:
        if source in self.composition["volumes"]:
            folder = self.top / f"volume-{source}"
            folder.mkdir(exist_ok=True)
            os.chown(folder, user, group)
            folder.chmod(0o700)
            return folder
        return (ROOT / "deploy" / source).resolve() if source.startswith(".") else Path(source)

    def execute(self, name: str, *command: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
        """A command in a running service, as `docker compose exec` would."""
        service = self.composition["services"][name]
        user, group = numbers(str(service["user"]))
        inner = next(iter(children(self.running[name].pid)), None)
        assert inner is not None, self.log(name).read_text()[-3000:]
        entry = ["nsenter", "--target", str(inner), "--mount", "--pid", "--net", "--uts", "--root", "--"]
        as_user = ["setpriv", "--reuid", str(user), "--regid", str(group), "--clear-groups", "--no-new-privs", "--"]
        there = ["/bin/sh", "-c", 'cd "$0"; exec "$@"', workdir(name)]
        return subprocess.run(
            [*entry, *as_user, *there, *command],
            env=environment(service),
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
            input=stdin.encode(),
        )

    def is_healthy(self, name: str) -> bool:
        """Whether the service runs and its own check says that it is well."""
        kind, *test = self.composition["services"][name]["healthcheck"]["test"]
        command = ["/bin/sh", "-c", *test] if kind == "CMD-SHELL" else test
        assert self.running[name].poll() is None, self.log(name).read_text()[-3000:]
        if not children(self.running[name].pid):
            return False
        return self.execute(name, *command).returncode == 0

    def log(self, name: str) -> Path:
        return self.top / f"{name}.log"

    def stop(self) -> None:
        for process in [*self.running.values(), self.network]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def numbers(user: str) -> tuple[int, int]:
    """The user and group of a service, by number or by a name of this machine."""
    name, _, group = user.partition(":")
    if name.isdigit():
        return int(name), int(group or name)
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid


def workdir(name: str) -> str:
    return "/" if name in ("postgres", "redis", "proxy") else "/opt/kaiku"


def environment(service: dict[str, Any]) -> dict[str, str]:
    """What the service's process is given, by the file and by its image."""
    given = {key: str(value) for key, value in service.get("environment", {}).items()}
    image = {
        "PATH": f"{postgresql_programs()}:{PATH}",
        "PGDATA": "/var/lib/postgresql/data",
        "KAIKU_VAR_DIR": "/var/lib/kaiku-portal",
        "XDG_CACHE_HOME": "/var/cache/kaiku",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }
    return image | given
