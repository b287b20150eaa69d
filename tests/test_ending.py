"""A run that left a thread or a process behind names it, fails, and is gone within ten seconds of its summary."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ending import descendants
from tests.processes import PATIENCE_S, is_alive, patience, wait_until

ROOT = Path(__file__).parents[1]
SUMMARY = " passed in "

STUCK = """
import subprocess, threading
from tests import ending

ending.GRACE_S = 1

def wait_for_ever():
    threading.Event().wait()

def test_starts_a_thread():
    threading.Thread(target=wait_for_ever, name="beat").start()

def test_starts_a_process():
    subprocess.Popen(["sleep", "300"])
"""
ENDING = """
import threading
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(2)

def test_leaves_a_pool_that_waits_for_work():
    assert POOL.submit(int).result() == 0

def test_leaves_a_daemon():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
HELD = """
import atexit, time
from tests import ending

def test_leaves_something_for_the_end_of_the_interpreter():
    ending.END_S = 0.5
    atexit.register(time.sleep, 300)
"""
BROKEN = """
import pytest, threading
from tests.slurm.nodes import FakeNodes

@pytest.fixture
def nodes(tmp_path):
    FakeNodes(tmp_path)
    raise FileNotFoundError("munged")

def test_needs_nodes(nodes):
    pass
"""

WAITS = """
import pathlib, pytest, time

@pytest.fixture
def service(request):
    place = pathlib.Path(request.path).parent
    (place / f"{request.node.name} started").touch()
    yield
    time.sleep(1)
    (place / f"{request.node.name} stopped").touch()

def test_waits(service):
    time.sleep(300)

@pytest.mark.slurm
def test_waits_beside(service):
    time.sleep(300)

@pytest.mark.hosts
def test_waits_in_vain(service):
    time.sleep(300)
"""


def ran(folder: Path, code: str, *options: str) -> tuple[int, str, float]:
    """Exit status, output, and the seconds from the summary to the end of a run of this file."""
    (folder / "test_one.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-p", "tests.ending", "-p", "no:cacheprovider"]
    command += ["-c", "/dev/null", "--rootdir", str(folder), *options, str(folder / "test_one.py")]
    said, summed_up = "", 0.0
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **streams) as run:
        assert run.stdout is not None
        for line in run.stdout:
            said += line
            if SUMMARY in line or " error in " in line:
                summed_up = time.monotonic()
    return run.returncode, said, time.monotonic() - summed_up


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "--numprocesses", "1")], ids=["one process", "spread"])
def test_what_is_alive_is_named_and_fails_the_run_that_ends_nevertheless(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    status, said, seconds = ran(tmp_path, STUCK, *options)
    assert (status, "2 passed" in said, seconds < patience(10)) == (1, True, True), said
    named = said.partition("still alive after the last test")[2]
    assert f"thread beat in wait_for_ever at {tmp_path}/test_one.py:8\n" in named
    (left,) = re.findall(r"process (\d+): sleep 300\n", named)
    assert not is_alive(int(left))


def test_what_ends_with_the_interpreter_is_no_reason_to_fail(tmp_path: Path) -> None:
    status, said, seconds = ran(tmp_path, ENDING)
    assert (status, "still alive" in said, seconds < patience(10)) == (0, False, True), said


def test_whatever_else_holds_the_interpreter_is_shown_and_does_not_hold_the_run(tmp_path: Path) -> None:
    status, said, seconds = ran(tmp_path, HELD)
    assert (status, seconds < 100, "Timeout (" in said) == (1, True, True), said


def test_nodes_of_a_fixture_that_fails_half_way_hold_nothing(tmp_path: Path) -> None:
    status, said, seconds = ran(tmp_path, BROKEN)
    assert (status, "FileNotFoundError: munged" in said, seconds < patience(10)) == (1, True, True), said
    assert "still alive" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_script_alone_ends_every_phase_that_stops_what_it_started(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_waits.py").write_text(WAITS)
    environ = {"PYTHON_BIN": str(Path(sys.executable).parent), "KAIKU_TEST_TOLD": str(tmp_path / "told")}
    words = ["env", "--default-signal", ROOT / "tests/run", tmp_path / "test_waits.py"]
    with (tmp_path / "said").open("wb") as said:
        output = {"stdout": said, "stderr": said}
        script = subprocess.Popen(words, env={**os.environ, **environ}, **output, start_new_session=True)
    try:
        for name in ("test_waits", "test_waits_beside"):
            wait_until(name, (tmp_path / f"{name} started").exists)
        script.send_signal(number)
        assert script.wait(PATIENCE_S) == 130
    finally:
        for pid in descendants(script.pid):
            os.kill(pid, signal.SIGKILL)
        script.kill()
    found = sorted(path.name for path in tmp_path.glob("test_* *"))
    assert found == [
        f"{name} {what}" for name in ("test_waits", "test_waits_beside") for what in ("started", "stopped")
    ]
    assert "2 of 4" not in (tmp_path / "said").read_text()
