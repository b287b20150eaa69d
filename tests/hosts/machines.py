"""Hosts on one machine: each with a network, process numbers and a name of its own, on a switch of their own.

They share the files, so that a test reads their logs, and nothing they do leaves the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import PATIENCE_S, children, wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
NOBODYS_MAC = "02:00:00:00:00:ff"
INIT = "hostname {name}; trap '' CHLD; exec sleep infinity"
"""The first process of a host: ended children that nobody waits for are gone at once."""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=PATIENCE_S)


def remove(space: str) -> None:
    """Take a namespace away; one that was never made is none."""
    subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False, timeout=PATIENCE_S)


class Host:
    """One machine of the made-up site."""

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.network, self.name, self.address = network, name, f"10.99.0.{number}"
        self.space, self.port = f"{network.prefix}-{name}", f"port{number}"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def boot(self) -> None:
        network = self.network
        ip("netns", "add", self.space)
        ip("-n", network.switch, "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("-n", network.switch, "link", "set", self.port, "master", "bridge", "up")
        ip("-n", self.space, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", self.space, "link", "set", device, "up")
        own = ["unshare", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child"]
        keeper = subprocess.Popen(
            ["ip", "netns", "exec", self.space, *own, "sh", "-c", INIT.format(name=self.name)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.running["init"] = keeper
        wait_until(self.name, lambda: children(keeper.pid))
        (self.init,) = children(keeper.pid)
        wait_until(f"the name of {self.name}", lambda: self._asked_name() == self.name)

    def _asked_name(self) -> str:
        return subprocess.run(self._inside("hostname"), capture_output=True, text=True, check=False).stdout.strip()

    def _inside(self, *command: str) -> list[str]:
        spaces = ("--net", "--uts", "--pid", "--mount", f"--wdns={CHECKOUT}")
        return ["nsenter", "--target", str(self.init), *spaces, *command]

    def start(self, program: str, *command: str, environment: dict[str, str], log: Path) -> None:
        """A program that runs until it is killed or stopped; `program` is what it is called here."""
        with log.open("ab") as output:
            self.running[program] = subprocess.Popen(
                self._inside(*command),
                env=environment,
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def run(self, *command: str, environment: dict[str, str], stdin: str = "") -> str:
        """What a program says that ends by itself."""
        done = subprocess.run(
            self._inside(*command),
            env=environment,
            cwd=CHECKOUT,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def signal(self, program: str, number: signal.Signals) -> None:
        """Send a signal to the first process of a program, and wait until it has ended."""
        entered = self.running[program]
        os.kill(*children(entered.pid), number)
        entered.wait(PATIENCE_S)

    def kill_within(self, pid: int) -> None:
        """`kill -9` of a process by the number that it has on this host."""
        subprocess.run(self._inside("kill", "-9", str(pid)), check=True, timeout=PATIENCE_S)

    @contextmanager
    def unheard_by(self, other: Host) -> Iterator[None]:
        """What this host sends to the other is lost, and neither of the two is told."""
        wrong = ("neigh", "replace", other.address, "lladdr", NOBODYS_MAC, "dev", "eth0", "nud", "permanent")
        ip("-n", self.space, *wrong)
        try:
            yield
        finally:
            ip("-n", self.space, "neigh", "delete", other.address, "dev", "eth0")

    @contextmanager
    def unplugged(self) -> Iterator[None]:
        """Its cable is out, at the other end: the host itself sees no change."""
        ip("-n", self.network.switch, "link", "set", self.port, "nomaster")
        try:
            yield
        finally:
            ip("-n", self.network.switch, "link", "set", self.port, "master", "bridge")

    def stop(self) -> None:
        if "init" in self.running:
            # All that runs on a host ends with its first process, and that with its keeper.
            self.running["init"].kill()
        for process in self.running.values():
            process.wait(PATIENCE_S)
        remove(self.space)


class Network:
    """A switch, and the hosts that are plugged into it."""

    def __init__(self) -> None:
        self.prefix = f"kaiku-{os.getpid()}"
        self.switch = f"{self.prefix}-switch"
        self.hosts: list[Host] = []

    def boot(self) -> None:
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")

    def host(self, name: str) -> Host:
        self.hosts.append(Host(self, name, len(self.hosts) + 1))
        self.hosts[-1].boot()
        return self.hosts[-1]

    def stop(self) -> None:
        for host in self.hosts:
            host.stop()
        remove(self.switch)
