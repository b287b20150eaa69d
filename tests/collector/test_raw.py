"""Raw samples: only for a job that wants them, bounded, sent after everything else and given up first."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collector import job as slurm_job
from collector import spool, statefile
from collector.calibration import Calibration
from collector.config import Config
from collector.loop import Sampler
from collector.raw_payload import raw_samples
from collector.shipper import ship_raw
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from metrics.raw_samples import RawSamplesPayload, problems
from tests.collector.answers import Answers, counted, serving, shipping_config
from tests.collector.fake_node import FakeNode
from tests.collector.hook_node import Node, checkpoint
from tests.collector.sampling import GB, START, config_of, job, summary
from tests.processes import wait_until


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path / "sys")


def sampler(tmp_path: Path, seconds: float) -> Sampler:
    config = config_of(tmp_path)
    calibration = Calibration()
    source = AmdgpuSysfs(config.sysfs_root, [0, 1], calibration)
    return Sampler(config, {**job([0, 1]), "raw_s": seconds}, source, calibration)


def window(made: Sampler) -> dict[str, Any]:
    """The payload, after a trip through the disk."""
    told = summary(made)
    rows = marshal.loads(marshal.dumps(made.state(), statefile.FORMAT))["raw"]
    content = json.dumps(raw_samples(told, rows, made.job["started_at"]), allow_nan=False)
    assert problems(msgspec.json.decode(content, type=RawSamplesPayload)) == []
    return json.loads(content)


def test_the_last_samples_each_as_it_was_taken(node: FakeNode, tmp_path: Path) -> None:
    made = sampler(tmp_path, 3.0)
    for second, (first, second_gpu) in enumerate([(10, 0), (20, 0), (33, 50), (100, 51), (0, 52)], start=1):
        node.gpus[0].show(first, used_bytes=8 * GB)
        node.gpus[1].show(second_gpu, used_bytes=second * GB)
        made.tick(second + 0.25)
    found = window(made)
    assert {name: found[name] for name in ("schema", "cluster", "job_id", "attempt", "node", "interval_s")} == {
        "schema": "raw-samples/1", "cluster": "lumi", "job_id": 42, "attempt": 1, "node": "nid005001",
        "interval_s": 1.0,
    }  # fmt: skip
    assert found["at_s"] == [0.0, 1.0, 2.0]
    assert [gpu["util"] for gpu in found["gpus"]] == [[33, 100, 0], [50, 51, 52]]
    # Memory is read of every other GPU at a tick: what stands is what was read last.
    assert found["gpus"][0]["mem_gb"] == [8.0, 8.0, 8.0]
    assert START == 1_790_000_000.0
    assert (found["started_at"], found["ended_at"]) == ("2026-09-21T14:13:23.250000Z", "2026-09-21T14:13:25.250000Z")


def test_a_tick_that_read_nothing_is_a_gap(node: FakeNode, tmp_path: Path) -> None:
    made = sampler(tmp_path, 10.0)
    made.tick(1.0)
    node.gpus[1].write("gpu_metrics", b"")
    made.tick(2.0)
    assert [gpu["util"] for gpu in window(made)["gpus"]] == [[0, 0], [0, None]]


def test_it_never_grows_past_its_bound(node: FakeNode, tmp_path: Path) -> None:
    made = sampler(tmp_path, 1e6)
    for second in range(1, 4001):
        made.tick(float(second))
    assert len(window(made)["at_s"]) == 3600
    assert len(marshal.dumps(made.state()["raw"], statefile.FORMAT)) < 250_000


def test_a_last_tick_right_after_another_is_not_one_more(node: FakeNode, tmp_path: Path) -> None:
    made = sampler(tmp_path, 10.0)
    for at_s in (1.0, 2.0, 2.0004):
        made.tick(at_s)
    assert window(made)["at_s"] == [0.0, 1.0]


def test_after_a_restart_it_goes_on(node: FakeNode, tmp_path: Path) -> None:
    first = sampler(tmp_path, 10.0)
    node.gpus[0].show(70)
    first.tick(1.0)
    second = sampler(tmp_path, 10.0)
    second.restore(first.state(), 5.0)
    node.gpus[0].show(30)
    second.tick(6.0)
    assert window(second)["gpus"][0]["util"] == [70, 30]
    assert window(second)["at_s"] == [0.0, 5.0]


def test_without_a_wish_there_is_none(node: FakeNode, tmp_path: Path) -> None:
    made = sampler(tmp_path, 0.0)
    made.tick(1.0)
    assert made.state()["raw"] is None


@pytest.mark.parametrize(
    ("comment", "is_asked"),
    [("kaiku:raw", True), ("mine, kaiku:raw", True), ("nokaiku:raw", False), ("", False), ("kaiku:rawer", False)],
)
def test_a_user_asks_for_it_in_the_job_s_comment(comment: str, is_asked: bool) -> None:
    variables = {"SLURM_JOB_ID": "1", "SLURM_JOB_GPUS": "0", "SLURM_JOB_COMMENT": comment}
    assert slurm_job.from_environment(variables, "lumi")["is_raw_asked"] is is_asked


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("settings", "comment", "expected"),
    [({}, "", 0), ({}, "kaiku:raw", 1), ({"raw_s": 60}, "", 1), ({"raw_asked_s": 0}, "kaiku:raw", 0)],
)
def test_from_the_hooks_to_the_disk(hooks: Node, settings: dict[str, Any], comment: str, expected: int) -> None:
    hooks.write_config(**settings)
    hooks.hook("prolog", SLURM_JOB_COMMENT=comment)
    checkpoint(hooks)
    hooks.hook("epilog", SLURM_JOB_COMMENT="changed since")
    wait_until("a summary", lambda: len(hooks.spooled()) == 1)
    found = [json.loads(path.read_bytes()) for path in (hooks.state / "spool").glob("raw-*.json")]
    assert len(found) == expected
    for payload in found:
        assert set(payload["gpus"][0]["util"]) == {90.0}
        assert payload["gpus"][0]["mem_gb"][-1] == 8.0


def put(folder: str, kind: str, name: str, content: bytes = b"{}", order: int = 0) -> None:
    spool.put(folder, kind, name, content, 1e9, order)


def test_it_goes_last_and_is_given_up_first(tmp_path: Path) -> None:
    folder = str(tmp_path)
    for kind in (spool.RAW, spool.RECORD, spool.SUMMARY):
        put(folder, kind, "7", b"x" * 100)
    assert [entry.kind for entry in spool.entries(folder)] == ["summary", "record", "raw"]
    assert [entry.kind for entry in spool.due(folder)] == ["summary", "record"]
    spool.make_room(folder, 250)
    assert [entry.kind for entry in spool.entries(folder)] == ["summary", "record"]


def test_what_nobody_took_for_a_day_is_forgotten(tmp_path: Path) -> None:
    folder = str(tmp_path)
    put(folder, spool.RAW, "old", order=1)
    put(folder, spool.SUMMARY, "old", order=1)
    put(folder, spool.RAW, "new")
    spool.forget_old(folder)
    assert [(entry.kind, entry.name.rpartition("-")[2]) for entry in spool.entries(folder)] == [
        ("summary", "old.json"),
        ("raw", "new.json"),
    ]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[Answers, Config]]]:
    with ExitStack() as portals:

        def served(*answers: tuple) -> tuple[Answers, Config]:
            portal = portals.enter_context(serving(Answers(*answers)))
            config = shipping_config(tmp_path)
            config.portal_url = f"http://{portal.address}"
            return portal, config

        yield served


def test_a_portal_with_too_much_to_do_is_asked_once_and_left_alone(serve: Callable[..., Any]) -> None:
    portal, config = serve((503, b"", {"Retry-After": "3600"}))
    for name in ("1", "2"):
        put(config.spool_dir, spool.RAW, name)
    ship_raw(config)
    assert len(portal.requests) == 1
    assert len(list(spool.entries(config.spool_dir))) == 2


def test_what_the_portal_took_is_gone(serve: Callable[..., Any]) -> None:
    portal, config = serve((202, counted()))
    put(config.spool_dir, spool.RAW, "1")
    ship_raw(config)
    assert [path for path, _, _ in portal.requests] == ["/api/v1/ingest/raw-samples"]
    assert list(spool.entries(config.spool_dir)) == []
