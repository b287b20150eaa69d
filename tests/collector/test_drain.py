"""`collector ship` as processes: they take turns, catch up after an outage, and leave nothing on disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import drain, spool, statefile
from collector.config import Config
from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import put_settings
from tests.collector.slurm_rows import job, shown
from tests.processes import PATIENCE_S

ENTRIES = 30


class Slow(Answers):
    """A portal that takes its time for every entry."""

    def answer_to(self, document: object) -> tuple[int, bytes, dict]:
        time.sleep(0.2)
        return super().answer_to(document)


@pytest.fixture
def portal() -> Iterator[Answers]:
    with serving(Slow((201, counted()))) as made:
        yield made


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text("secret")
    return tmp_path


def shipper(
    node: Path, portal_url: str, max_s: float = 30, command: str = "ship", **more: object
) -> subprocess.Popen[bytes]:
    settings = {
        "scontrol": "",
        "state_dir": node / "state",
        "token_file": node / "token",
        "portal_url": portal_url,
        "ship_max_s": max_s,
        "failures_file": node / "run/failures",
    }
    config = node / "collector.conf"
    put_settings(config, "".join(f"{name} = {value}\n" for name, value in (settings | more).items()))
    words = [sys.executable, "-m", "collector", command, "--config", str(config)]
    return subprocess.Popen(words, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    said = process.communicate(timeout=PATIENCE_S)[1]
    return process.returncode, said.decode().strip()


def put(node: Path, name: str) -> None:
    spool.put(str(node / "state/spool"), spool.SUMMARY, name, json.dumps({"name": name}).encode(), 1e6)


def left(node: Path) -> int:
    return len(list(spool.entries(str(node / "state/spool"))))


def test_everything_of_an_outage_arrives_once_in_the_order_it_was_kept(node: Path, portal: Answers) -> None:
    statefile.private_folder(str(node / "state/spool"))
    for number in range(ENTRIES):
        put(node, f"{number}")
    status, said = ended(shipper(node, "http://127.0.0.1:9", max_s=1))
    assert (status, left(node)) == (1, ENTRIES)
    assert said.startswith(f"0 sent, {ENTRIES} left: ConnectionRefusedError")
    assert ended(shipper(node, f"http://{portal.address}")) == (0, f"{ENTRIES} sent, 0 left")
    assert [document["name"] for _, _, document in portal.requests] == [str(number) for number in range(ENTRIES)]


def test_one_shipper_works_one_waits_and_more_are_not_needed(node: Path, portal: Answers) -> None:
    for number in range(10):
        put(node, f"{number}")
    first = shipper(node, f"http://{portal.address}")
    while not portal.requests:
        time.sleep(0.01)
    second = shipper(node, f"http://{portal.address}")
    queue = node / "state/ship.queue"
    while not _is_locked(queue):
        time.sleep(0.01)
    put(node, "late")
    third = shipper(node, f"http://{portal.address}")
    assert ended(third) == (0, "")
    assert first.poll() is None
    assert {ended(first)[0], ended(second)[0]} == {0}
    assert len(portal.requests) == 11
    assert left(node) == 0


def _is_locked(path: Path) -> bool:
    """By the kernel's own list of locks, so that looking does not take one."""
    if not path.exists():
        return False
    inode = f":{path.stat().st_ino} "
    return any(inode in line for line in Path("/proc/locks").read_text().splitlines())


def test_a_request_for_a_record_becomes_one_and_goes_away(node: Path, portal: Answers) -> None:
    job = {"cluster": "lumi", "job_id": 7, "attempt": 0, "partition": "small-g", "node_count": 1, "ntasks": 1}
    job |= {"node": "nid005001"}
    job |= {"array_job_id": None, "array_task_id": None, "user": "alice", "account": "project_465000001"}
    job |= {"exit_status": 0, "started_at": 0.0, "ended_at": 60.0, "threads_per_core": 1}
    statefile.private_folder(str(node / "state/records"))
    statefile.save(str(node / "state/records/7.0"), job)
    assert ended(shipper(node, f"http://{portal.address}")) == (0, "1 sent, 0 left")
    ((path, _, record),) = portal.requests
    assert path == "/api/v1/ingest/job-records"
    assert (record["state"], record["user_id"], record["ended_at"]) == ("COMPLETED", "alice", "1970-01-01T00:01:00Z")
    assert list((node / "state/records").iterdir()) == []


@pytest.mark.parametrize(("nodes", "seconds"), [(0, 0.0), (1, 0.0), (2, 0.04), (100, 2.0), (1024, 20.48), (3000, 60.0)])
def test_the_more_nodes_a_job_has_the_longer_their_first_payloads_are_spread(nodes: int, seconds: float) -> None:
    # 50 nodes a second, and a minute at most.
    assert drain.spread_s(Config(), nodes) == pytest.approx(seconds)
    pauses = [drain.first_pause_s(Config(), nodes) for _ in range(400)]
    assert all(0 <= pause <= seconds for pause in pauses)
    assert sum(pauses) / 400 == pytest.approx(seconds / 2, rel=0.2)


def test_a_site_may_send_at_once() -> None:
    config = Config()
    config.nodes_per_s = 0.0
    assert drain.spread_s(config, 3000) == 0.0


def test_what_was_set_aside_is_sent_again_by_a_command(node: Path, portal: Answers) -> None:
    portal.answers[0] = (422, b'{"detail": "cluster"}', {})
    for name in ("one", "two"):
        put(node, name)
    assert ended(shipper(node, f"http://{portal.address}")) == (0, "0 sent, 0 left")
    aside = node / "state/spool/set-aside"
    assert len(list(aside.iterdir())) == 4
    portal.answers = [(201, counted(), {})]
    said = "2 payloads that were set aside will be sent again\n2 sent, 0 left"
    assert ended(shipper(node, f"http://{portal.address}", command="resend")) == (0, said)
    assert [document["name"] for _, _, document in portal.requests[2:]] == ["one", "two"]
    assert list(aside.iterdir()) == []


def test_a_sender_that_cannot_send_at_all_says_so_to_the_next_payload(node: Path) -> None:
    put(node, "one")
    (node / "token").chmod(0o644)
    status, said = ended(shipper(node, "http://127.0.0.1:9"))
    assert (status, left(node)) == (1, 1)
    assert "can be read by others: chmod 600 it" in said
    assert (node / "run/failures").read_text().startswith("\tship: ShipError: ")


def slow_slurm(node: Path) -> str:
    """Commands that show a job as COMPLETING for a second, and after that as ended."""
    row = shown("gpn8")
    for name, text in (("before", row.replace("COMPLETED", "COMPLETING")), ("after", row)):
        (node / name).write_text(text)
    squeue = node / "squeue"
    now = "$(cut -d. -f1 /proc/uptime)"
    squeue.write_text(
        f"#!/bin/sh\n[ -e {node}/since ] || echo {now} >{node}/since\n"
        f"[ {now} -gt $(($(cat {node}/since) + 1)) ] && cat {node}/after || cat {node}/before\n"
    )
    squeue.chmod(0o755)
    return str(squeue)


def test_a_job_that_completes_slowly_holds_up_nothing_else(node: Path, portal: Answers) -> None:
    statefile.private_folder(str(node / "state/records"))
    statefile.save(str(node / "state/records/41.0"), job(41))
    put(node, "before")
    process = shipper(node, f"http://{portal.address}", scontrol="/bin/true", squeue=slow_slurm(node))
    while not portal.requests:
        time.sleep(0.01)
    put(node, "later")
    assert ended(process) == (0, "3 sent, 0 left")
    kinds = [document.get("name", document.get("state")) for _, _, document in portal.requests]
    assert kinds == ["before", "later", "COMPLETED"]


def test_a_record_is_made_while_the_portal_is_away(node: Path) -> None:
    statefile.private_folder(str(node / "state/records"))
    statefile.save(str(node / "state/records/41.0"), job(41))
    put(node, "one")
    assert ended(shipper(node, "http://127.0.0.1:9", max_s=0.5))[0] == 1
    assert [entry.kind for entry in spool.entries(str(node / "state/spool"))] == ["summary", "record"]
