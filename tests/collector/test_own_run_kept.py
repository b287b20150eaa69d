"""What `run -- COMMAND` leaves: its file, its copy on the portal, and under which Python it works."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collector import own_report
from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import Node, collector_zip, measured, put_settings
from tests.collector.own_runs import JOB, a_while, kept, node_of_a_user, run, variables, words
from tests.parts import python
from tests.processes import PATIENCE_S, patience

node = pytest.fixture(node_of_a_user)


def test_a_full_disk_leaves_no_half_a_file(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(payload: object) -> bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        return b"x" * 2000

    monkeypatch.setattr(own_report.closing, "encoded", full)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    monkeypatch.setenv("TMPDIR", str(node.top / "tmp"))
    try:
        with pytest.raises(OSError, match="File too large"):
            own_report.keep({}, str(node.top / "kaiku-1"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [*node.top.glob("kaiku-*"), *(node.top / "tmp").iterdir()] == []


def test_settings_are_found_from_wherever_they_are_named(node: Node) -> None:
    command = [part if part != str(node.config) else node.config.name for part in words(node, "sleep", a_while(0.8))]
    subprocess.run(command, cwd=node.top, env=variables(node, **JOB), check=True, capture_output=True)
    assert len(measured(kept(node)[0])) == 2


def test_files_are_sent_with_the_users_own_settings(node: Node) -> None:
    portal = Answers((201, counted()), (200, counted(accepted=0, duplicate=1)), (401, b"{}"))
    with serving(portal):
        own = node.top / "home/.config/kaiku"
        own.mkdir(parents=True)
        # The site's own token, which only root can read: one may lie at its usual place while this runs.
        site_token = f"token_file = {node.top}/nowhere\n"
        put_settings(own / "collector.conf", f"portal_url = http://{portal.address}\n{site_token}")
        (own / "token").touch(0o600)
        (own / "token").write_text("secret")
        (node.top / "a.json").write_text("{}")
        said = [
            subprocess.run(
                [sys.executable, str(collector_zip()), "send", "a.json"], cwd=node.top, env=variables(node),
                capture_output=True, text=True, check=False,
            ).stderr
            for _ in range(3)
        ]  # fmt: skip
        assert said[0] == "a.json: sent\n"
        assert "the first is kept" in said[1]
        assert said[2] == f"a.json: the portal rejected the token in {own}/token\n"


def test_where_nothing_can_be_written_the_command_runs_all_the_same(node: Node) -> None:
    done = run(node, "sh", "-c", f"sleep {a_while()}; exit 4", TMPDIR="/proc/nowhere")
    assert (done.returncode, "kaiku: not measured: FileNotFoundError" in done.stderr) == (4, True)


def test_where_the_working_directory_is_not_ones_own_the_summary_goes_beside_temporary_files(node: Node) -> None:
    command = [*words(node, "sleep", a_while(0.8))]
    done = subprocess.run(command, cwd="/proc", env=variables(node, **JOB), capture_output=True, text=True, check=True)
    assert f"written to {node.top}/tmp/kaiku-77.0-nid005001.json" in done.stderr


def test_with_a_token_it_is_sent_and_what_did_not_go_can_be_sent_later(node: Node) -> None:
    portal = Answers((201, counted()), (503, b""), (201, counted()))
    with serving(portal):
        settings = f"sysfs_root = {node.top}/sys\nportal_url = http://{portal.address}\ntoken_file = {node.top}/token\n"
        put_settings(node.config, settings)
        done = run(node, "sleep", a_while(), **JOB)
        assert f"kaiku: sent to http://{portal.address}\n" in done.stderr
        path, headers, body = portal.requests[0]
        assert (path, headers["Authorization"]) == ("/api/v1/ingest/node-summaries", "Bearer secret")
        assert body == kept(node)[0]
        refused = run(node, "sh", "-c", f"sleep {a_while()}; exit 9", **JOB)
        assert refused.returncode == 9
        again = node.top / "kaiku-77.0-nid005001-2.json"
        assert f"kaiku: not sent to http://{portal.address}: the portal answered 503" in refused.stderr
        command = [sys.executable, str(collector_zip()), "send", "--config", str(node.config), str(again)]
        sent = subprocess.run(command, env=variables(node), capture_output=True, text=True, check=True)
        assert sent.stderr == f"{again}: sent\n"


def test_a_portal_that_hangs_delays_the_end_by_five_seconds_at_most(node: Node) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import socket, time; s = socket.create_server(('127.0.0.1', 0));"
         "print(s.getsockname()[1], flush=True); time.sleep(60)"], stdout=subprocess.PIPE, text=True,
    ) as deaf:  # fmt: skip
        assert deaf.stdout is not None
        url = f"http://127.0.0.1:{int(deaf.stdout.readline())}"
        put_settings(node.config, f"sysfs_root = {node.top}/sys\nportal_url = {url}\ntoken_file = {node.top}/token\n")
        began = time.monotonic()
        done = run(node, "sh", "-c", f"sleep {a_while()}; exit 6")
        deaf.kill()
    assert done.returncode == 6
    assert time.monotonic() - began < patience(9)
    assert "not sent" in done.stderr


@pytest.mark.parametrize("minor", [6, 7, 8, 9, 10, 11, 12, 13, 14])
def test_every_python_runs_the_command_and_those_from_3_9_measure_it(node: Node, minor: int) -> None:
    alone = {"PATH": "/usr/bin:/bin"} if minor >= 9 else {"PATH": "/nowhere"}
    command = [python(f"3.{minor}"), str(collector_zip()), "run", "--config", str(node.config)]
    done = subprocess.run(
        [*command, "--", "/bin/sh", "-c", f"/bin/sleep {a_while(0.8)}; exit 3"],
        cwd=node.top, env=variables(node) | alone,
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    if minor >= 9:
        assert len(measured(kept(node)[0])) == 8
    else:
        assert done.stderr == f"kaiku: not measured: needs Python 3.9 or later, this is 3.{minor}\n"


def test_a_newer_python_that_does_not_work_is_passed_over(node: Node) -> None:
    old = python("3.6")
    shims = node.top / "shims"
    shims.mkdir()
    for name in ("python3.13", "python3.12"):
        (shims / name).write_text("#!/bin/sh\nexit 127\n")
        (shims / name).chmod(0o755)
    command = [old, str(collector_zip()), "run", "--", "/bin/sh", "-c", "exit 3"]
    done = subprocess.run(command, env=variables(node) | {"PATH": str(shims)}, capture_output=True, check=False)
    assert done.returncode == 3


def test_a_newer_python_of_the_path_is_taken(node: Node) -> None:
    old, new = python("3.6"), Path(python("3.12"))
    command = [old, str(collector_zip()), "run", "--config", str(node.config), "--", "/bin/sleep", a_while(3)]
    path = {"PATH": f"{new.parent}:/bin"}
    subprocess.run(command, cwd=node.top, env=variables(node) | path, check=True, capture_output=True)
    assert len(measured(kept(node)[0])) == 8


@pytest.mark.parametrize("arguments", [["run"], ["run", "--"], ["ship", "--", "true"], ["send"]])
def test_what_makes_no_sense_is_told_at_once(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, collector_zip(), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run -- COMMAND" in done.stderr


def test_a_command_without_dashes_before_it_is_told_so() -> None:
    done = subprocess.run([sys.executable, collector_zip(), "run", "true"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "kaiku-collector: two dashes must precede the command: run -- COMMAND\n",
    )
