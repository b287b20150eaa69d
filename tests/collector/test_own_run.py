"""`run -- COMMAND` as a plain user calls it: the command is left alone, and its GPUs are measured beside it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.collector.hook_node import Node, measured, processes, put_settings
from tests.collector.own_runs import (
    JOB,
    a_while,
    begin,
    ended,
    is_left_clean,
    kept,
    node_of_a_user,
    run,
    variables,
    words,
)
from tests.processes import PATIENCE_S, patience, wait_until

node = pytest.fixture(node_of_a_user)


def test_a_job_is_measured_and_its_summary_kept(node: Node) -> None:
    began = time.monotonic()
    done = run(node, "sh", "-c", "echo out; sleep 1.5; exit 7", **JOB)
    took_s = time.monotonic() - began
    assert (done.returncode, done.stdout) == (7, "out\n")
    said = re.search(r"kaiku: 2 GPUs on nid005001 for (\d+\.\d) s: mean use 90\.0 %", done.stderr)
    assert said is not None
    assert 1.5 <= float(said[1]) <= round(took_s, 1)
    assert f"kaiku: written to {node.top}/kaiku-77.0-nid005001.json" in done.stderr
    (payload,) = kept(node)
    assert measured(payload) == [90.0, 90.0]
    assert 0 < payload["gpus"][0]["measured_s"] < took_s
    assert [gpu["gpu_id"] for gpu in payload["gpus"]] == [2, 3]
    assert {name: payload[name] for name in ("schema", "cluster", "job_id", "attempt", "node", "sequence")} == {
        "schema": "node-summary/1", "cluster": "lumi", "job_id": 77, "attempt": 0, "node": "nid005001", "sequence": 0,
    }  # fmt: skip
    assert payload["own_run"] == {
        "user_id": "alice", "project_id": "project_465000001", "job_name": "train", "partition": "small-g",
        "state": "FAILED", "exit_code": "7:0", "node_count": 1, "gpus_allocated": 2, "cpus_allocated": 14,
        "walltime_requested_s": 3600.0, "ntasks": 2,
    }  # fmt: skip
    assert is_left_clean(node)


def test_without_a_scheduler_all_gpus_of_the_machine_are_measured(node: Node) -> None:
    done = run(node, sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass")
    assert done.returncode == 0
    (payload,) = kept(node)
    assert len(measured(payload)) == 8
    assert payload["job_id"] > 10**12
    # A loop that takes a second of one core, however long a loaded machine needs for that; sampling begins after it.
    assert 0.2 < payload["cpu"]["busy_cores_avg"] * payload["gpus"][0]["measured_s"] <= 1.3
    visible = run(node, "sleep", a_while(), ROCR_VISIBLE_DEVICES="4,5")
    assert "2 GPUs on" in visible.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_command_that_a_signal_ended(node: Node, number: signal.Signals) -> None:
    assert run(node, "sh", "-c", f"kill -{number.value} $$").returncode == -number
    assert run(node, "sh", "-c", f"sleep {a_while(0.8)}; kill -{number.value} $$").returncode == -number
    assert kept(node)[0]["own_run"]["exit_code"] == f"0:{number.value}"


def test_a_command_that_cannot_be_run(node: Node) -> None:
    done = run(node, "no-such-command")
    assert (done.returncode, done.stderr) == (127, "kaiku: no-such-command: No such file or directory\n")
    plain = node.top / "plain"
    plain.write_text("")
    assert run(node, str(plain)).returncode == 126
    assert run(node, "no-such-command", **JOB | {"SLURM_LOCALID": "1"}).returncode == 127
    assert kept(node) == []


def test_the_command_finds_everything_as_it_would_without(node: Node) -> None:
    code = ["sh", "-c", "env | sort | grep -v KAIKU_RUN; ls /proc/self/fd; ulimit -a; umask"]
    plain = subprocess.run(code, cwd=node.top, env=variables(node), capture_output=True, text=True, check=True)
    assert run(node, *code).stdout == plain.stdout
    # Blocked and ignored signals, without the two that the C library keeps for its threads.
    masks = ["sed", "-n", "s/^Sig[BI].*\\(........\\)$/\\1/p", "/proc/self/status"]
    as_usual = subprocess.run(masks, capture_output=True, text=True, check=True).stdout
    assert [int(line, 16) & 0x7FFFFFFF for line in run(node, *masks).stdout.split()] == [
        int(line, 16) & 0x7FFFFFFF for line in as_usual.split()
    ]


def test_input_goes_through(node: Node) -> None:
    done = subprocess.run(
        words(node, "cat"), input="one\ntwo\n", cwd=node.top, env=variables(node), capture_output=True, text=True,
        timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert done.stdout == "one\ntwo\n"


def test_the_tasks_of_a_node_count_together_until_the_last_one_ends(node: Node) -> None:
    """The first one ends first, and fails; nobody waits for the others but the summary."""
    began = time.monotonic()
    code = 'echo begun; while [ ! -e "$0" ]; do sleep 0.1; done; exit "$1"'
    overs = [node.top / f"over-{local}" for local in range(4)]
    tasks = [
        begin(node, "sh", "-c", code, str(over), str(status), **JOB | {"SLURM_LOCALID": str(local)})
        for local, (over, status) in enumerate(zip(overs, (3, 0, 0, 0), strict=True))
    ]
    assert [task.stdout.readline() for task in tasks] == ["begun\n"] * 4
    wait_until("sampling", lambda: processes("run", str(node.config), "--job"))
    sampled = time.monotonic()
    overs[0].touch()
    assert ended(tasks[0]) == 3
    assert [task.poll() for task in tasks[1:]] == [None] * 3
    assert kept(node) == []
    time.sleep(1)
    for over, task in zip(overs[1:], tasks[1:], strict=True):
        over.touch()
        lasted = time.monotonic() - sampled
        assert ended(task) == 0
    (payload,) = kept(node)
    # Until the last one ended, not the first; how long it took for sampling to begin is the machine's.
    assert lasted - 0.9 < payload["gpus"][0]["measured_s"] < time.monotonic() - began
    assert (payload["own_run"]["state"], payload["own_run"]["exit_code"]) == ("FAILED", "3:0")
    assert is_left_clean(node)


def test_a_task_that_is_killed_does_not_keep_the_others_from_their_summary(node: Node) -> None:
    over, code = node.top / "over", 'echo begun; while [ ! -e "$0" ]; do sleep 0.1; done'
    tasks = [begin(node, "sh", "-c", code, str(over), **JOB | {"SLURM_LOCALID": str(local)}) for local in range(2)]
    assert [task.stdout.readline() for task in tasks] == ["begun\n"] * 2
    wait_until("sampling", lambda: processes("run", str(node.config), "--job"))
    time.sleep(0.5)
    os.killpg(tasks[0].pid, signal.SIGKILL)
    over.touch()
    assert [ended(task) for task in tasks] == [-9, 0]
    assert len(kept(node)) == 1
    assert is_left_clean(node)


def test_a_run_inside_a_run_is_not_measured_twice(node: Node) -> None:
    assert run(node, *words(node, "sleep", a_while())).returncode == 0
    assert len(kept(node)) == 1


def test_a_job_submitted_from_inside_a_run_is_measured(node: Node) -> None:
    """Its environment comes along with it."""
    assert run(node, "sleep", a_while(), KAIKU_RUN="76@nid005001", **JOB).returncode == 0
    assert len(kept(node)) == 1


def test_signals_reach_the_command_once(node: Node) -> None:
    code = "import os, signal, sys, time\ncount = 0\n"
    code += "def one(*_):\n    global count; count += 1; os.write(1, b'%d\\n' % count)\n"
    code += "signal.signal(signal.SIGUSR1, one); signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
    code += "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.05)"
    process = begin(node, sys.executable, "-c", code)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "1\n"
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, rest) == (5, "")
    assert is_left_clean(node)


def test_an_interrupt_from_the_terminal_comes_once(node: Node) -> None:
    code = "import signal, time\nn = 0\ndef one(*_):\n    global n; n += 1\nsignal.signal(signal.SIGINT, one)\n"
    code += (
        "print('ready', flush=True); e = time.time() + 1.5\nwhile time.time() < e: time.sleep(0.05)\nprint('got', n)"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(node.top)
        command = words(node, sys.executable, "-c", code)
        os.execve(command[0], command, variables(node))
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    wait_until("the run to end", lambda: os.waitpid(pid, os.WNOHANG)[0])
    said += os.read(terminal, 10_000)
    assert b"got 1" in said


def test_a_killed_run_leaves_no_sampling_behind(node: Node) -> None:
    process = begin(node, "sleep", "300")
    wait_until("sampling", lambda: processes("run", str(node.config), "--job"))
    os.killpg(process.pid, signal.SIGKILL)
    ended(process)
    wait_until("the sampling to end", lambda: not processes("run", str(node.config), "--job"))
    assert len(os.listdir(node.top / "tmp")) == 2
    run(node, "sleep", a_while())
    assert is_left_clean(node)


def test_sampling_that_hangs_or_dies_holds_nobody_up(node: Node) -> None:
    for kill in (signal.SIGSTOP, signal.SIGKILL):
        over = node.top / f"over-{kill}"
        process = begin(node, "sh", "-c", f"until [ -e {over} ]; do sleep 0.1; done")
        wait_until("sampling", lambda: processes("run", str(node.config), "--job"))
        time.sleep(0.7)
        for pid in processes("run", str(node.config), "--job"):
            os.kill(pid, kill)
        over.touch()
        began = time.monotonic()
        assert ended(process) == 0
        assert time.monotonic() - began < patience(4.5)
        wait_until("the sampling to be gone", lambda: is_left_clean(node))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("interval = 1\n", "collector.conf, line 1: unknown setting 'interval'"),
        ("sysfs_root = /nowhere\nsource = amdgpu_sysfs\n", "not sampled: bus/pci/drivers/amdgpu: No such file"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(node: Node, settings: str, reason: str) -> None:
    put_settings(node.config, settings)
    done = run(node, "sh", "-c", f"sleep {a_while()}; exit 3")
    assert done.returncode == 3
    assert done.stderr.startswith("kaiku: not measured: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert kept(node) == []


def test_a_node_whose_files_hang_holds_nobody_up(node: Node) -> None:
    for gpu in node.gpus:
        (gpu.folder / "device").unlink()
        os.mkfifo(gpu.folder / "device")
    began = time.monotonic()
    done = run(node, "sh", "-c", "sleep 1; exit 3")
    assert (done.returncode, "not measured: no answer in time" in done.stderr) == (3, True)
    assert time.monotonic() - began < patience(8)


def test_an_alarm_of_somebody_else_is_the_commands(node: Node) -> None:
    code = "import os, signal, sys, time; signal.signal(signal.SIGALRM, lambda *_: sys.exit(8)); os.write(1, b'.')\n"
    process = begin(node, sys.executable, "-c", code + "time.sleep(30)")
    assert process.stdout is not None
    assert process.stdout.read(1) == "."
    time.sleep(1)
    process.send_signal(signal.SIGALRM)
    assert ended(process) == 8


def test_how_slurm_ended_it_is_told_as_slurm_names_it(node: Node) -> None:
    for ends_in_s, state in ((3600, "CANCELLED"), (0, "TIMEOUT")):
        limit = {"SLURM_JOB_START_TIME": "1", "SLURM_JOB_END_TIME": str(int(time.time()) + ends_in_s)}
        process = begin(node, "sh", "-c", "echo begun; exec sleep 30", **JOB | limit)
        assert process.stdout.readline() == "begun\n"
        wait_until("sampling", lambda: processes("run", str(node.config), "--job"))
        time.sleep(0.5)
        process.terminate()
        # Slurm's own signal reaches the command as well; this test's came to the run alone.
        os.killpg(process.pid, signal.SIGTERM)
        ended(process)
        assert kept(node)[-1]["own_run"]["state"] == state
        kept_file = max(node.top.glob("kaiku-*.json"))
        kept_file.unlink()


def test_a_job_without_gpus(node: Node) -> None:
    done = run(node, "true", **{**JOB, "SLURM_JOB_GPUS": ""})
    assert (done.returncode, done.stderr) == (0, "kaiku: not measured: the job has no GPU on this node\n")


def test_a_command_of_no_time_is_left_in_peace(node: Node) -> None:
    done = run(node, "true")
    assert (done.returncode, done.stderr, kept(node)) == (0, "", [])


def test_ten_at_once_keep_ten_files(node: Node) -> None:
    batch = {name: value for name, value in JOB.items() if name != "SLURM_STEP_ID"}
    together = [begin(node, "sleep", a_while(1.2), **batch) for _ in range(10)]
    assert [ended(process) for process in together] == [0] * 10
    assert [len(measured(payload)) for payload in kept(node)] == [2] * 10
