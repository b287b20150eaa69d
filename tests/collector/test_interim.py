"""Interim summaries: due by the job's own clock, counted once, and never in the way of what must arrive."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from collector import closing, drain, interim, shipper, spool, statefile
from collector.config import Config
from tests.collector.answers import Answers, counted, serving
from tests.collector.running_jobs import HOUR_S, checkpoint, node_config, running, waiting
from tests.payloads import decoded
from tests.processes import PATIENCE_S


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return node_config(tmp_path)


@pytest.fixture
def serve(config: Config) -> Iterator[Callable[..., Answers]]:
    with ExitStack() as portals:

        def served(portal: Answers) -> Answers:
            portals.enter_context(serving(portal))
            config.portal_url = f"http://{portal.address}"
            return portal

        yield served


def made(config: Config) -> dict[str, Any] | None:
    """The interim summary that waits after one turn of a sender whose portal is away."""
    config.portal_url = "http://127.0.0.1:9"
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    found = [json.loads(Path(entry.path).read_bytes()) for entry in spool.interims(config.spool_dir)]
    assert len(found) <= 1
    for payload in found:
        decoded(payload)
    return found[0] if found else None


def failures_of(config: Config) -> str:
    path = Path(config.failures_file)
    return path.read_text() if path.exists() else ""


def test_it_has_what_was_measured_and_the_recent_use(config: Config) -> None:
    # Buckets of 60 s: 3 GiB and 5 GiB in the first, none in the second, 6 GiB in the third.
    memory = {"step_s": 60.0, "sums": [8 * 2.0**30, 0.0, 6 * 2.0**30], "counts": [2, 0, 1]}
    running(config, 630.0, checkpoint(600.0, energy_j=60_000.0, cpu_s=1200.0, memory=memory))
    first = made(config)
    assert first is not None
    assert (first["sequence"], first["final"], first["recent_s"]) == (1, False, 600.0)
    assert (first["started_at"], first["ended_at"]) == ("2026-09-21T14:13:20Z", "2026-09-21T14:23:20Z")
    assert [gpu["avg_util"] for gpu in first["gpus"]] == [50.0, 50.0]
    # 60 kJ in 600 s; the second GPU of the module reports no power.
    assert [gpu.get("recent_power_avg_w") for gpu in first["gpus"]] == [100.0, None]
    assert first["cpu"]["recent_busy_cores"] == 2.0
    assert first["cpu"]["memory_timeline"] == {"step_s": 60.0, "gb": [4.0, None, 6.0]}


def test_the_next_one_tells_what_came_since(config: Config) -> None:
    running(config, 630.0, checkpoint(600.0, energy_j=60_000.0, cpu_s=1200.0))
    made(config)
    running(config, 4230.0, checkpoint(4200.0, energy_j=1_140_000.0, cpu_s=1560.0))
    second = made(config)
    assert second is not None
    # In 3600 s: 1,080 kJ are 300 W, and 360 s of CPU time are 0.1 cores.
    assert (second["sequence"], second["recent_s"]) == (2, 3600.0)
    assert second["gpus"][0]["recent_power_avg_w"] == 300.0
    assert second["gpus"][0]["power_avg_w"] == 271.4  # 1,140 kJ in 4200 s
    assert second["cpu"]["recent_busy_cores"] == 0.1


def test_a_control_group_that_was_found_late_has_no_recent_cores_at_first(config: Config) -> None:
    running(config, 630.0, checkpoint(600.0))
    made(config)
    running(config, 4230.0, checkpoint(4200.0, cpu_s=1560.0))
    second = made(config)
    assert second is not None
    assert "recent_busy_cores" not in second["cpu"]
    assert "memory_timeline" not in second["cpu"]


@pytest.mark.parametrize(
    ("first_s", "every_s", "expected"),
    [
        (600.0, HOUR_S, [0, 1, 1, 1, 2, 2, 2, 2, 3]),
        (600.0, 0.0, [0, 1, 1, 1, 1, 1, 1, 1, 1]),
        (0.0, HOUR_S, [0] * 9),
        (0.0, 0.0, [0] * 9),
    ],
)
def test_it_is_due_after_ten_minutes_and_then_each_hour(config, first_s, every_s, expected) -> None:
    """The hours count from the planned times: a timer that comes late delays the next one by nothing."""
    config.interim_first_s, config.interim_every_s = first_s, every_s
    ages_s = [590.0, 1400.0, 2300.0, 4190.0, 4210.0, 5000.0, 6000.0, 7790.0, 7801.0]
    numbers = []
    for age_s in ages_s:
        running(config, age_s, checkpoint(age_s - 5.0))
        payload = made(config)
        numbers.append(payload["sequence"] if payload else 0)
    assert numbers == expected


def test_a_checkpoint_that_is_no_newer_is_not_sent_again(config: Config) -> None:
    running(config, 630.0, checkpoint(600.0))
    made(config)
    spool.drop_interim(config.spool_dir, "42.0-nid005001")
    running(config, 4230.0, checkpoint(600.0))
    assert made(config) is None
    running(config, 4230.0, checkpoint(600.5))
    assert (made(config) or {})["sequence"] == 2


@pytest.mark.parametrize("state", [None, [], 7, {"elapsed_s": 600.0}, {**checkpoint(600.0), "gpus": [None]}])
def test_without_a_readable_checkpoint_there_is_none_and_others_have_theirs(config: Config, state: Any) -> None:
    running(config, 700.0, state, job_id=41)
    running(config, 700.0, checkpoint(600.0))
    assert (made(config) or {})["job_id"] == 42
    is_broken = isinstance(state, dict)
    assert ("41\tinterim summary: " in failures_of(config)) is is_broken


def test_a_folder_of_another_boot_has_none(config: Config) -> None:
    running(config, 700.0, checkpoint(600.0), boot_id="another")
    running(config, -50.0, checkpoint(600.0), job_id=43)
    assert made(config) is None
    assert failures_of(config) == ""


def test_a_clock_that_was_set_back_changes_neither_when_nor_what(config: Config, monkeypatch) -> None:
    running(config, 630.0, checkpoint(600.0))
    made(config)
    day_ns, now_ns = 86_400 * 10**9, time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() - day_ns)
    running(config, 4230.0, checkpoint(4200.0))
    second = made(config)
    assert second is not None
    assert (second["sequence"], second["ended_at"]) == (2, "2026-09-21T15:23:20Z")
    spool.forget_old(config.spool_dir)
    assert waiting(config) == ["interim 42.0-nid005001"]


def test_one_that_a_later_clock_dated_is_dropped(config: Config) -> None:
    for kind, hours in ((spool.INTERIM, 1), (spool.INTERIM, -1), (spool.INTERIM, -3), (spool.RAW, 1), (spool.RAW, -3)):
        at_ns = time.time_ns() + int(hours * HOUR_S) * 10**9
        spool.put(config.spool_dir, kind, f"{hours}", b"{}", 1e6, at_ns)
    spool.forget_old(config.spool_dir)
    assert waiting(config) == ["raw -3", "raw 1", "interim -1"]


def ended(config: Config, folder: Path) -> dict[str, Any]:
    """What an epilog stores of this job."""
    closing.end(str(folder), {"ended_at": 1_790_010_000.0, "exit_status": 0}, 1.0)
    closing.close(config, str(folder))
    (entry,) = (entry for entry in spool.due(config.spool_dir) if f"-{folder.name}-" in entry.name)
    payload: dict[str, Any] = json.loads(Path(entry.path).read_bytes())
    return payload


def test_the_final_one_has_the_next_number_and_drops_what_waits(config: Config) -> None:
    for age_s in (700.0, 5000.0):
        folder = running(config, age_s, checkpoint(age_s - 10.0))
        made(config)
    assert waiting(config) == ["interim 42.0-nid005001"]
    final = ended(config, folder)
    assert (final["sequence"], final["final"], "recent_s" in final) == (3, True, False)
    assert waiting(config) == ["summary 42.0-nid005001"]


def test_fifty_jobs_in_a_row_leave_a_final_summary_each_and_nothing_else(config: Config) -> None:
    numbers = []
    for job_id in range(1, 51):
        folder = running(config, 700.0, checkpoint(600.0), job_id)
        assert made(config) is not None
        numbers.append(ended(config, folder)["sequence"])
    assert numbers == [2] * 50
    assert len(spool.due(config.spool_dir)) == len(waiting(config)) == 50
    assert os.listdir(config.jobs_dir) == []


def test_an_epilog_at_the_same_moment_leaves_none(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job ends after its checkpoint was read: whoever of the two is later drops it."""
    folder, put = running(config, 700.0, checkpoint(600.0)), spool.put_interim
    for moment in ("before", "after"):
        folder = running(config, 700.0, checkpoint(600.0))

        def storing(*given: Any, moment: str = moment, folder: Path = folder) -> None:
            if moment == "before":
                ended(config, folder)
            put(*given)
            if moment == "after":
                ended(config, folder)

        monkeypatch.setattr(spool, "put_interim", storing)
        assert made(config) is None
        assert waiting(config) == ["summary 42.0-nid005001"]
        spool.done(*spool.due(config.spool_dir))


def test_a_sender_killed_before_it_stored_one_leaves_its_number_unused(config: Config, monkeypatch) -> None:
    folder = running(config, 700.0, checkpoint(600.0))
    child = os.fork()
    if not child:
        monkeypatch.setattr(spool, "put_interim", lambda *given: os._exit(9))
        interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert waiting(config) == []
    assert made(config) is None, "the next one is due in an hour"
    running(config, 5000.0, checkpoint(4800.0))
    assert (made(config) or {})["sequence"] == 2
    assert ended(config, folder)["sequence"] == 3


def test_a_full_disk_costs_the_summary_and_is_said(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    running(config, 700.0, checkpoint(600.0))

    def full(path: str, content: bytes, *, is_durable: bool) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(statefile, "write_bytes", full)
        assert made(config) is None
    assert "42\tinterim summary: OSError: [Errno 28] No space left on device" in failures_of(config)
    assert (made(config) or {})["sequence"] == 1


def test_it_takes_no_room_from_anything_else_and_gives_up_its_own_first(config: Config) -> None:
    folder = config.spool_dir
    for kind in (spool.RAW, spool.RECORD, spool.SUMMARY):
        spool.put(folder, kind, "7", b"x" * 100, 1e9)
    with pytest.raises(OSError, match="no room"):
        spool.put_interim(folder, "8", b"x" * 100, 350.0)
    assert waiting(config) == ["summary 7", "record 7", "raw 7"]
    spool.put_interim(folder, "8", b"x" * 100, 450.0)
    spool.put_interim(folder, "9", b"x" * 100, 450.0)
    assert waiting(config) == ["summary 7", "record 7", "raw 7", "interim 9"]
    spool.put_interim(folder, "9", b"y" * 100, 450.0)
    assert waiting(config) == ["summary 7", "record 7", "raw 7", "interim 9"]
    spool.put(folder, spool.SUMMARY, "8", b"x" * 100, 450.0)
    assert waiting(config) == ["summary 7", "summary 8", "record 7", "raw 7"]


def test_without_room_a_node_says_so(config: Config) -> None:
    config.spool_max_mb = 1e-6
    running(config, 700.0, checkpoint(600.0))
    assert made(config) is None
    assert "42\tinterim summary: OSError: [Errno 28] no room for an interim summary" in failures_of(config)


def test_what_the_portal_took_is_gone(config: Config, serve) -> None:
    portal = serve(Answers((201, counted())))
    for job_id in (41, 42):
        running(config, 700.0, checkpoint(600.0), job_id)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    assert [path for path, _, _ in portal.requests] == ["/api/v1/ingest/node-summaries"] * 2
    assert [(said["job_id"], said["final"]) for _, _, said in portal.requests] == [(41, False), (42, False)]
    assert (waiting(config), failures_of(config)) == ([], "")


@pytest.mark.parametrize("answer", [(503, b"", {"Retry-After": "3600"}), (500, b""), (401, b""), (200, b"{}")])
def test_a_portal_that_takes_none_is_asked_once_and_the_summary_waits(config: Config, serve, answer) -> None:
    portal = serve(Answers(answer))
    for job_id in (41, 42):
        running(config, 700.0, checkpoint(600.0), job_id)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    assert len(portal.requests) == 1
    assert (len(waiting(config)), failures_of(config)) == (2, "")


def test_one_that_the_portal_refuses_is_dropped_and_said(config: Config, serve) -> None:
    portal = serve(Answers((422, b"wrong"), (201, counted())))
    for job_id in (41, 42):
        running(config, 700.0, checkpoint(600.0), job_id)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    assert (len(portal.requests), waiting(config)) == (2, [])
    assert failures_of(config) == "\tinterim summary: 422: wrong\n"


def test_a_node_that_cannot_send_at_all_says_so(config: Config) -> None:
    running(config, 700.0, checkpoint(600.0))
    Path(config.token_file).chmod(0o644)
    assert made(config) is not None
    assert "interim summary: ShipError: " in failures_of(config)


def test_what_must_arrive_ends_the_pause_before_it(config: Config, serve) -> None:
    """The pause would be ten minutes: a summary that an epilog stores meanwhile ends it, and it goes first."""
    portal = serve(Answers((201, counted())))
    running(config, 700.0, checkpoint(600.0), node_count=2978)
    asked: list[int] = []

    def pause_s(nodes: int) -> float:
        asked.append(nodes)
        threading.Timer(0.05, spool.put, (config.spool_dir, spool.SUMMARY, "7", b"{}", 1e9)).start()
        return 600.0

    interim.interim_summaries(config, pause_s, lambda: bool(spool.due(config.spool_dir)))
    assert asked == [2978]
    assert (portal.requests, waiting(config)) == ([], ["summary 7", "interim 42.0-nid005001"])


def test_what_must_arrive_goes_before_the_next_one(config: Config, serve) -> None:
    class Called(Answers):
        """While it answers, an epilog stores a summary."""

        def answer_to(self, document: object) -> tuple[int, bytes, dict[str, str]]:
            spool.put(config.spool_dir, spool.SUMMARY, "7", b"{}", 1e9)
            return super().answer_to(document)

    portal = serve(Called((201, counted())))
    for job_id in (41, 42):
        running(config, 700.0, checkpoint(600.0), job_id)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: bool(spool.due(config.spool_dir)))
    assert len(portal.requests) == 1
    assert waiting(config) == ["summary 7", "interim 42.0-nid005001"]


def test_while_something_waits_that_cannot_be_sent_none_is_made(config: Config) -> None:
    running(config, 700.0, checkpoint(600.0))
    spool.put(config.spool_dir, spool.SUMMARY, "7", b"{}", 1e9)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: bool(spool.due(config.spool_dir)))
    assert waiting(config) == ["summary 7"]
    assert not (Path(config.jobs_dir) / "42.0/interim").exists()


def test_a_portal_that_hangs_is_left_after_seconds(config: Config, serve, monkeypatch) -> None:
    over = threading.Event()

    class Hanging(Answers):
        def answer_to(self, document: object) -> tuple[int, bytes, dict[str, str]]:
            over.wait(PATIENCE_S)
            return super().answer_to(document)

    assert shipper.INTERIM_S_MAX == 5.0
    monkeypatch.setattr(shipper, "INTERIM_S_MAX", 0.1)
    serve(Hanging((201, counted())))
    config.request_max_s = 3600.0
    for job_id in (41, 42):
        running(config, 700.0, checkpoint(600.0), job_id)
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    over.set()
    assert len(waiting(config)) == 2


@pytest.mark.parametrize(("nodes", "requests"), [(0, 1), (1, 0), (8, 0)])
def test_only_the_sender_of_the_timer_makes_them(config: Config, serve, nodes: int, requests: int, monkeypatch) -> None:
    portal = serve(Answers((201, counted())))
    config.scontrol, config.spread_max_s = "", 0.0
    running(config, 700.0, checkpoint(600.0))
    monkeypatch.setattr(drain, "_close", lambda config, config_file: None)  # it would start a sampling process
    assert drain.drain(config, "", nodes) == 0
    assert len(portal.requests) == requests


@pytest.mark.needs("openssl")
@pytest.mark.parametrize("is_in_folder", [True, False])
def test_the_system_s_authorities_are_looked_up_in_their_folder_or_else_in_their_file(
    config: Config, serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_in_folder: bool
) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kaiku-test"
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True
    )
    folder = tmp_path / "authorities"
    folder.mkdir()
    if is_in_folder:
        hashed = subprocess.check_output(
            ["openssl", "x509", "-hash", "-noout", "-in", str(tmp_path / "cert")], text=True
        )
        (folder / f"{hashed.strip()}.0").symlink_to(tmp_path / "cert")
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / ("nothing" if is_in_folder else "cert")))
    portal = Answers((201, counted()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    portal.server.socket = context.wrap_socket(portal.server.socket, server_side=True)
    serve(portal)
    config.portal_url = f"https://{portal.address}"
    running(config, 700.0, checkpoint(600.0))
    interim.interim_summaries(config, lambda nodes: 0.0, lambda: False)
    assert (len(portal.requests), waiting(config), failures_of(config)) == (1, [], "")
