"""`check` on nodes that are well, and on ones that are not: one line for each thing, and the status."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector import spool
from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import Node, checkpoint, collector_zip, environment
from tests.processes import PATIENCE_S, wait_until


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as node:
        yield node


@pytest.fixture
def portal() -> Iterator[Answers]:
    with serving(Answers((200, counted(0)))) as made:
        yield made


@pytest.fixture
def slurm(node: Node) -> Callable[..., dict[str, str]]:
    """A Slurm with these lines in its configuration, and our hooks where they say."""

    def made(**config: str) -> dict[str, str]:
        hooks = node.top / "slurm"
        hooks.mkdir(exist_ok=True)
        for hook in ("prolog", "epilog"):
            (hooks / hook).write_bytes(node.script(hook).read_bytes())
            (hooks / hook).chmod(0o755)
        said = {"SLURM_VERSION": "22.05.8", "Prolog": f"{hooks}/prolog", "Epilog": f"{hooks}/epilog"}
        lines = "\n".join(f"{name:23} = {value}" for name, value in {**said, "PrologFlags": "Alloc", **config}.items())
        (node.top / "config").write_text(f"Configuration data as of 2026-11-22T10:00:00\n{lines}\n")
        commands = {
            "scontrol": f"cat {node.top}/config",
            "squeue": "echo 'error: Invalid job id specified' >&2; exit 1",
        }
        for name, body in commands.items():
            (node.top / name).write_text(f"#!/bin/sh\n{body}\n")
            (node.top / name).chmod(0o755)
        return {name: str(node.top / name) for name in commands}

    return made


def checked(node: Node, **settings: object) -> tuple[int, dict[str, list[str]]]:
    """The status of `check`, and by level what it said."""
    node.write_config(**settings)
    command = [sys.executable, str(collector_zip()), "check", "--config", str(node.config)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stderr == ""
    found: dict[str, list[str]] = {"ok": [], "look": [], "BAD": []}
    for line in done.stdout.splitlines():
        level, _, rest = line.partition(" ")
        found[level].append(" ".join(rest.split()))
    return done.returncode, found


@pytest.mark.needs("root")
def test_a_node_that_is_well(node: Node, portal: Answers, slurm: Callable) -> None:
    status, said = checked(node, portal_url=f"http://{portal.address}", **slurm())
    assert (status, said["BAD"], said["look"]) == (0, [], [])
    assert "GPUs 8 through amdgpu_sysfs" in said["ok"]
    assert f"portal http://{portal.address} accepts this token" in said["ok"]
    assert "Slurm squeue of 22.05.8 answers" in said["ok"]
    assert [document for _, _, document in portal.requests] == [[]]


def test_a_sampled_job_is_seen_and_one_that_nobody_samples_is_bad(node: Node, portal: Answers, slurm: Callable) -> None:
    well = {"portal_url": f"http://{portal.address}", **slurm()}
    node.write_config(**well)
    node.hook("prolog")
    checkpoint(node)
    status, said = checked(node, **well)
    assert (status, "jobs 7.0 is sampled" in said["ok"]) == (0, True)
    for pid in node.samplers():
        os.kill(pid, 9)
    wait_until("not killed", lambda: not node.samplers())
    status, said = checked(node, **well)
    assert (status, said["BAD"]) == (1, ["jobs 7.0 is not sampled: killed"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"token_file": "/nowhere"}, "portal /nowhere: [Errno 2]"),
        ({"portal_url": "http://kaiku.example.org"}, "portal portal_url must be https"),
        ({"portal_url": "http://127.0.0.1:9"}, "portal ConnectionRefusedError"),
        ({"state_dir": "/proc/kaiku"}, "state folder FileNotFoundError"),
        ({"sysfs_root": "/nowhere", "source": "amdgpu_sysfs"}, "GPUs no source: "),
        ({"scontrol": "/bin/false"}, "Slurm /bin/false show config: no answer"),
    ],
)
def test_what_is_wrong_is_named(node: Node, portal: Answers, slurm: Callable, settings: dict, said: str) -> None:
    status, found = checked(node, **{"portal_url": f"http://{portal.address}", **slurm(), **settings})
    assert status == 1
    assert [line.startswith(said) for line in found["BAD"]] == [True]


def test_a_token_that_the_portal_refuses(node: Node, portal: Answers, slurm: Callable) -> None:
    portal.answers = [(401, b'{"title": "Unauthorized"}', {})]
    status, found = checked(node, portal_url=f"http://{portal.address}", **slurm())
    assert (status, len(found["BAD"])) == (1, 1)
    assert 'answered 401: {"title": "Unauthorized"}' in found["BAD"][0]


@pytest.mark.needs("root")
def test_hooks_that_slurm_does_not_call(node: Node, portal: Answers, slurm: Callable) -> None:
    commands = slurm(Prolog="(null)", PrologFlags="(null)")
    status, found = checked(node, portal_url=f"http://{portal.address}", **commands)
    assert (status, found["BAD"]) == (1, ["Slurm Prolog=(null): does not start the collector"])
    assert found["look"] == [
        "Slurm PrologFlags has no Alloc: the prolog runs where the first step begins, not on every node at once"
    ]


def test_a_folder_of_hooks_is_warned_of_and_what_was_left_in_it_is_bad(
    node: Node, portal: Answers, slurm: Callable
) -> None:
    commands = slurm(Prolog=f"{node.top}/slurm/p*")
    well = {"portal_url": f"http://{portal.address}", **commands}
    status, found = checked(node, **well)
    assert (status, [line for line in found["look"] if "name a single file" in line] != []) == (0, True)
    (node.top / "slurm/prolog.rpmsave").write_text("#!/bin/sh\nexit 1\n")
    status, found = checked(node, **well)
    assert (status, len(found["BAD"])) == (1, 1)
    assert found["BAD"][0].endswith("prolog.rpmsave also runs as a hook: if it fails, the node is drained")


@pytest.mark.needs("root")
def test_what_waits_and_what_was_set_aside_is_counted(node: Node, portal: Answers, slurm: Callable) -> None:
    folder = str(node.state / "spool")
    for name in ("one", "two", "three"):
        spool.put(folder, spool.SUMMARY, name, b"{}", 1e6)
    spool.set_aside(folder, next(spool.entries(folder)), "422")
    entry = next(spool.entries(folder))
    os.utime(entry.path, (time.time() - 7200,) * 2)
    status, found = checked(node, portal_url=f"http://{portal.address}", **slurm())
    assert status == 0
    assert found["look"] == [
        "waiting 2 payloads, the oldest for 120 min",
        "waiting 1 payloads were rejected and set aside; `resend` sends them again",
    ]


def test_settings_with_a_mistake_are_named_by_file_and_line(node: Node) -> None:
    node.config.write_text("cluster = lumi\nintervall_s = 1\n")
    command = [sys.executable, str(collector_zip()), "check", "--config", str(node.config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == f"{node.config}, line 2: unknown setting 'intervall_s'"
