"""Nothing fails in silence: what keeps a hook from its work is a line in the system's log and in the next payload."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collector.hook_node import Node, checkpoint, collector_zip, environment, measured, put_settings
from tests.parts import need, python
from tests.payloads import errors_of
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.xdist_group("system log")
# Where systemd is installed and does not run, the log's name leads to a place where nobody listens.
LOG = Path("/dev/log").resolve()
# Every process of a machine writes to its one log: these jobs are of this module alone.
FIRST, SECOND, THIRD = "900041", "900042", "900043"
OLD_PYTHON = "3.6"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as node:
        yield node


@pytest.fixture
def logged() -> Iterator[Callable[[], list[str]]]:
    """What came to the system's log, which this is where the machine has none."""
    need("no system log")
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(LOG))
        log.setblocking(False)

        def lines() -> list[str]:
            found = []
            while True:
                try:
                    found.append(log.recv(4096).decode())
                except BlockingIOError:
                    return [line for line in found if any(f"job {job}: " in line for job in (FIRST, SECOND, THIRD))]

        try:
            yield lines
        finally:
            LOG.unlink()


def no_python(node: Node) -> dict[str, object]:
    return {"python": node.top / "nowhere/python3"}


def old_python(node: Node) -> dict[str, object]:
    return {"python": python(OLD_PYTHON)}


def cut_zip(node: Node) -> dict[str, object]:
    cut = node.top / "cut.pyz"
    cut.write_bytes(collector_zip().read_bytes()[:-2000])
    return {"collector": cut}


def zip_without_a_module(node: Node) -> dict[str, object]:
    poor = node.top / "poor.pyz"
    with zipfile.ZipFile(collector_zip()) as whole, zipfile.ZipFile(poor, "w") as written:
        for name in whole.namelist():
            if "hooks" not in name:
                written.writestr(name, whole.read(name))
    return {"collector": poor}


def hangs(node: Node) -> dict[str, object]:
    script = node.top / "python3"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    return {"python": script}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (no_python, "ended with status 127: timeout: failed to run command"),
        (old_python, "ended with status 1: kaiku-collector: needs Python 3.9 or later, this is 3.6"),
        (cut_zip, "ended with status "),
        (zip_without_a_module, "prolog: ModuleNotFoundError: No module named 'collector.hooks'"),
        (hangs, "prolog: killed, or no end within 10 s"),
    ],
)
def test_a_collector_that_does_not_start_is_said(node: Node, logged: Callable, broken: Callable, reason: str) -> None:
    script = node.script("prolog", **broken(node))
    job = {"SLURM_JOB_ID": FIRST}
    done = subprocess.run(
        ["/bin/sh", script], env=environment(**job), capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = logged()
    assert " kaiku" in line
    assert reason in line
    node.hook("epilog", **job)
    (payload,) = node.spooled()
    (error,) = payload["errors"]
    assert error.startswith("not sampled: prolog: ")
    assert reason in error


@pytest.mark.parametrize("what", ["full", "read-only", "settings"])
def test_what_keeps_a_hook_from_its_work_is_said_and_counted(node: Node, logged: Callable, what: str) -> None:
    sound = node.config.read_text()
    for job in (FIRST, SECOND):
        if what == "full":
            node.hook("prolog", file_bytes_max=100, SLURM_JOB_ID=job)
        elif what == "read-only":
            node.write_config(state_dir="/proc/kaiku")
            node.hook("prolog", SLURM_JOB_ID=job)
        else:
            put_settings(node.config, sound + "intervall_s = 1\n")
            node.hook("prolog", SLURM_JOB_ID=job)
    put_settings(node.config, sound)
    lines = logged()
    assert len(lines) == 2
    assert f"job {FIRST}: prolog: " in lines[0]
    assert f"job {SECOND}: prolog: " in lines[1]
    node.hook("prolog", SLURM_JOB_ID=THIRD)
    checkpoint(node, f"{THIRD}.0")
    node.hook("epilog", SLURM_JOB_ID=THIRD)
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    (error,) = payload["errors"]
    assert error.startswith("before on this node, 2 times: prolog: ")
    assert not node.failures.exists()


def test_the_list_of_failures_stays_small(node: Node) -> None:
    script = node.script("prolog", python=node.top / "nowhere")
    node.failures.parent.mkdir()
    node.failures.write_text("\tprolog: something\n" * 4000)
    subprocess.run(["/bin/sh", script], env=environment(), timeout=PATIENCE_S, check=True)
    assert node.failures.stat().st_size == 4000 * 19
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["errors"][1] == "before on this node, 4000 times: prolog: something"


def test_a_log_that_nobody_reads_holds_up_no_hook(node: Node) -> None:
    """A socket that takes nothing more: writing to it would wait for ever."""
    need("no system log")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as full,
    ):
        LOG.parent.mkdir(parents=True, exist_ok=True)
        log.bind(str(LOG))
        try:
            full.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    full.sendto(b"x", str(LOG))
            node.hook("prolog", file_bytes_max=100)
        finally:
            LOG.unlink()
    assert "File too large" in node.failures.read_text()


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_the_hooks_do_their_work_with_every_python_from_39_on(node: Node, version: str) -> None:
    for hook in ("prolog", "epilog"):
        script = node.script(hook, python=python(version))
        subprocess.run(["/bin/sh", script], env=environment(), timeout=PATIENCE_S, check=True)
        if hook == "prolog":
            checkpoint(node)
    (payload,) = node.spooled()
    assert (measured(payload), errors_of(payload)) == ([90.0, 90.0], ())


def test_an_old_python_is_told_so_whatever_it_should_do(tmp_path: Path) -> None:
    done = subprocess.run([python(OLD_PYTHON), collector_zip(), "check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "kaiku-collector: needs Python 3.9 or later, this is 3.6"
    assert sys.version_info >= (3, 9)
