"""`kaiku run-log pipe` as an element of a pipe: what passes, when, and how it ends, whatever the portal does."""

from __future__ import annotations

import hashlib
import os
import random
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.programs import built, person_of
from tests.processes import PATIENCE_S, patience

NOWHERE = "http://127.0.0.1:9"
AT_ONCE_S = 2.0
"""Much longer than a byte takes, also on a busy machine; much less than any wait for the portal."""


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return person_of(tmp_path) | {"KAIKU_URL": NOWHERE, "KAIKU_LOG_TOKEN": "kaiku_log_x"}


@pytest.fixture
def hung() -> Iterator[str]:
    """A portal that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def piped(kaiku: str, environ: dict[str, str], *words: str, **more: object) -> subprocess.Popen[bytes]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [kaiku, "run-log", "pipe", "--experiment", "vit", "--wait", "0", *words]
    return subprocess.Popen(command, env=environ, bufsize=0, **streams | more)


def passed(kaiku: str, environ: dict[str, str], content: bytes, *words: str) -> tuple[int, bytes, str]:
    """Exit status, what came through, and the errors."""
    process = piped(kaiku, environ, *words)
    out, errors = process.communicate(content, timeout=PATIENCE_S)
    assert b"Traceback" not in errors
    return process.returncode, out, errors.decode()


def a_line(process: subprocess.Popen[bytes]) -> bytes:
    """What comes through within a short time."""
    assert select.select([process.stdout], [], [], patience(AT_ONCE_S))[0]
    return os.read(process.stdout.fileno(), 1000)


def contents() -> dict[str, bytes]:
    shuffled = random.Random(7)
    return {
        "nothing": b"",
        "no end of line": b"loss=1\nno end",
        "binary": shuffled.randbytes(3_000_000),
        "lines of a megabyte": (b"x" * 1_000_000 + b" loss=1\n") * 5,
        "many lines": b"".join(b"step=%d loss=0.5\n" % step for step in range(200_000)),
        "only ends of lines": b"\n" * 1_000_000,
    }


@pytest.mark.parametrize("content", contents().values(), ids=contents())
def test_every_byte_passes_unchanged(kaiku: str, environ: dict[str, str], content: bytes) -> None:
    status, out, _ = passed(kaiku, environ, content)
    assert (status, len(out)) == (0, len(content))
    assert hashlib.sha256(out).digest() == hashlib.sha256(content).digest()


@pytest.mark.parametrize("portal", ["nowhere", "hung"])
def test_output_passes_at_once_while_the_portal_is_gone_or_hung(
    kaiku: str, environ: dict[str, str], hung: str, portal: str
) -> None:
    process = piped(kaiku, environ | {"KAIKU_URL": hung if portal == "hung" else NOWHERE})
    for step in range(20):
        process.stdin.write(b"loss=%d\n" % step)
        assert a_line(process) == b"loss=%d\n" % step
    started = time.monotonic()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, time.monotonic() - started < patience(10)) == (0, True)
    assert errors.startswith(b"kaiku: 20 of 20 points not logged: ")


@pytest.mark.parametrize(
    ("without", "given", "why"),
    [
        ("KAIKU_LOG_TOKEN", {}, f"not signed in at {NOWHERE}: run `kaiku login --runs`"),
        ("KAIKU_URL", {}, "which portal? Set KAIKU_URL, or use --url https://…"),
        ("KAIKU_URL", {"KAIKU_URL": "ftp://x"}, "not an address of a portal: 'ftp://x'"),
        ("", {"KAIKU_LOG_TOKEN": "two words"}, "KAIKU_LOG_TOKEN does not contain exactly one token"),
        ("", {"KAIKU_TIMEOUT": "9"}, "127.0.0.1:9: Connection refused"),
    ],
)
def test_without_a_portal_or_token_the_output_passes_and_the_reason_is_stated(
    kaiku: str, environ: dict[str, str], without: str, given: dict[str, str], why: str
) -> None:
    known = {name: value for name, value in environ.items() if name != without} | given
    status, out, errors = passed(kaiku, known, b"loss=1\n", "--wait", "1")
    assert (status, out) == (0, b"loss=1\n")
    assert errors.splitlines()[-1] == f"kaiku: 1 of 1 point not logged: {why}"


def test_that_nothing_is_logged_is_stated_while_the_program_runs(kaiku: str, environ: dict[str, str]) -> None:
    process = piped(kaiku, environ | {"KAIKU_LOG_TOKEN": ""})
    assert select.select([process.stderr], [], [], 10)[0]
    why = f"not signed in at {NOWHERE}: run `kaiku login --runs`"
    assert os.read(process.stderr.fileno(), 1000).decode() == f"kaiku: no points are logged from now on: {why}\n"
    assert process.communicate(b"loss=1\n", timeout=PATIENCE_S)[0] == b"loss=1\n"


def test_what_is_wrong_in_the_command_line_is_found_before_anything_is_read(
    kaiku: str, environ: dict[str, str]
) -> None:
    for words, why in (
        (("--param", "lr"), "--param must be name=value, not 'lr'"),
        (("--job", "12a"), "--job must be the number of a job, SLURM_JOB_ID"),
        (("--failed",), "--failed does not belong to run-log pipe"),
        (("--run", "x"), "run-log pipe takes --experiment or --run, not both"),
        (("word",), "unexpected 'word': kaiku run-log --help"),
    ):
        assert passed(kaiku, environ, b"", *words) == (2, b"", f"kaiku: {why}\n")


def test_when_nobody_reads_the_output_it_ends_as_others_do(kaiku: str, environ: dict[str, str]) -> None:
    """The program before it gets SIGPIPE at once, too: `yes` never ends otherwise."""
    line = f'yes loss=1 | "{kaiku}" run-log pipe --experiment vit 2>/dev/null | head -1; echo "${{PIPESTATUS[@]}}"'
    started = time.monotonic()
    done = subprocess.run(["bash", "-c", line], env=environ, capture_output=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == b"loss=1\n141 141 0\n"
    assert time.monotonic() - started < patience(10)


def test_a_full_disk_is_stated(kaiku: str, environ: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = piped(kaiku, environ, stdout=full)
        _, errors = process.communicate(b"loss=1\n", timeout=PATIENCE_S)
    assert process.returncode == 4
    assert b"kaiku: the output cannot be passed on: No space left on device\n" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_after_a_signal_the_last_words_of_the_program_pass(
    kaiku: str, environ: dict[str, str], number: signal.Signals
) -> None:
    process = piped(kaiku, environ, "--run", "0" * 32, "--experiment", "")
    process.stdin.write(b"begun\n")
    assert a_line(process) == b"begun\n"
    process.send_signal(number)
    time.sleep(0.2)
    process.stdin.write(b"saved a checkpoint\n")
    assert a_line(process) == b"saved a checkpoint\n"
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -number


def test_a_second_signal_ends_it_at_once(kaiku: str, environ: dict[str, str]) -> None:
    process = piped(kaiku, environ)
    process.stdin.write(b"begun\n")
    a_line(process)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGTERM


def test_what_a_shell_lets_ignore_is_ignored(kaiku: str, environ: dict[str, str]) -> None:
    """`nohup`, and commands in the background of a script."""
    line = f"trap '' INT HUP; exec \"{kaiku}\" run-log pipe --experiment vit --wait 0"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(["bash", "-c", line], env=environ, bufsize=0, **streams)
    process.stdin.write(b"begun\n")
    assert a_line(process) == b"begun\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGHUP)
    assert process.communicate(b"more\n", timeout=PATIENCE_S)[0] == b"more\n"
    assert process.returncode == 0


def test_killed_itself_it_leaves_no_process(kaiku: str, environ: dict[str, str], hung: str) -> None:
    process = piped(kaiku, environ | {"KAIKU_URL": hung})
    process.stdin.write(b"loss=1\n")
    a_line(process)
    process.kill()
    # Its standard error ends with the last of its processes.
    started = time.monotonic()
    process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - started < patience(10)


def test_an_input_and_an_output_that_do_not_block_are_waited_for(kaiku: str, environ: dict[str, str]) -> None:
    process = piped(kaiku, environ)
    os.set_blocking(process.stdout.fileno(), False)
    os.set_blocking(process.stdin.fileno(), False)
    sent = got = 0
    while got < 1_000_000:
        if sent < 1_000_000 and select.select([], [process.stdin], [], 0)[1]:
            sent += os.write(process.stdin.fileno(), bytes(min(65536, 1_000_000 - sent)))
        if select.select([process.stdout], [], [], 0.01)[0]:
            got += len(os.read(process.stdout.fileno(), 65536))
    process.communicate(timeout=PATIENCE_S)
    assert (got, process.returncode) == (1_000_000, 0)
