"""`collector ship` as processes: they take turns, catch up after an outage, and leave nothing on disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import spool, statefile
from tests.collector.answers import Answers, counted

ENTRIES = 30


class Slow(Answers):
    """A portal that takes its time for every entry."""

    def answer_to(self, document: object) -> tuple[int, bytes, dict]:
        time.sleep(0.2)
        return super().answer_to(document)


@pytest.fixture
def portal() -> Iterator[Answers]:
    made = Slow((201, counted()))
    made.thread.start()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text("secret")
    return tmp_path


def shipper(node: Path, portal_url: str, max_s: float = 30) -> subprocess.Popen[bytes]:
    settings = {
        "state_dir": node / "state",
        "token_file": node / "token",
        "portal_url": portal_url,
        "ship_max_s": max_s,
    }
    config = node / "collector.conf"
    config.write_text("scontrol =\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
    command = [sys.executable, "-m", "collector", "ship", "--config", str(config)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    said = process.communicate(timeout=60)[1]
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
    job |= {"array_job_id": None, "array_task_id": None, "user": "alice", "account": "project_465000001"}
    job |= {"exit_status": 0, "started_at": 0.0, "ended_at": 60.0, "threads_per_core": 1}
    statefile.private_folder(str(node / "state/records"))
    statefile.save(str(node / "state/records/7.0"), job)
    assert ended(shipper(node, f"http://{portal.address}")) == (0, "1 sent, 0 left")
    ((path, _, record),) = portal.requests
    assert path == "/api/v1/ingest/job-records"
    assert (record["state"], record["user_id"], record["ended_at"]) == ("COMPLETED", "alice", "1970-01-01T00:01:00Z")
    assert list((node / "state/records").iterdir()) == []
