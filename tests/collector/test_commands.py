"""Programs that the collector runs end in time, with all they started, whatever happens to the collector."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collector.commands import output
from tests.collector.hook_node import processes
from tests.processes import PATIENCE_S, patience, wait_until


def hanging(tmp_path: Path) -> Path:
    """A tool that starts another program, and waits for it for ever."""
    tool = tmp_path / "rocm-smi"
    tool.write_text(f"#!/bin/sh\n/bin/sleep 300.{tmp_path.name[-1]} &\nwait\n")
    tool.chmod(0o755)
    return tool


def test_a_tool_that_hangs_ends_with_what_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.5 s"):
        output([str(hanging(tmp_path))], 0.5)
    assert time.monotonic() - began < patience(5)
    wait_until("what it started goes on", lambda: not processes(f"300.{tmp_path.name[-1]}"))


def test_a_tool_ends_in_time_when_the_sampling_process_that_ran_it_is_killed(tmp_path: Path) -> None:
    code = "import sys; from collector.commands import output; output([sys.argv[1]], 1.0)"
    caller = subprocess.Popen([sys.executable, "-c", code, str(hanging(tmp_path))])
    wait_until("the tool does not start", lambda: processes(f"300.{tmp_path.name[-1]}"))
    caller.send_signal(signal.SIGKILL)
    caller.wait(PATIENCE_S)
    wait_until("the tool goes on for nobody", lambda: not processes(f"300.{tmp_path.name[-1]}"))


def test_what_a_program_prints_and_how_it_ended() -> None:
    assert output(["sh", "-c", "echo said; echo wrong >&2; exit 3"], 5.0) == (3, "said\n")
    assert output(["sh", "-c", "echo said; echo wrong >&2"], 5.0, with_errors=True) == (0, "said\nwrong\n")
    assert output(["sh", "-c", "echo $TZ"], 5.0, TZ="UTC") == (0, "UTC\n")


def test_a_program_that_is_not_there_or_may_not_be_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        output(["no-such-program"], 1.0)
    for name in ("nowhere", "text"):
        with pytest.raises((FileNotFoundError, PermissionError), match=name):
            output([str(tmp_path / name)], 1.0)
