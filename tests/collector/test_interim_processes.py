"""Interim summaries of real sampling processes, made by senders that are started as the timer starts them."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from collector import statefile
from metrics.models import NodeSummary, RunningNode
from metrics.selectors import run_metrics
from metrics.services import record_node_summary
from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import Node, collector_zip, environment, processes
from tests.payloads import decoded
from tests.processes import PATIENCE_S, wait_until

SOON = {"interim_first_s": 0.5, "interim_every_s": 0.5, "ship_max_s": 30}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as made:
        yield made


@pytest.fixture
def portal(node: Node) -> Iterator[Answers]:
    with ExitStack() as stack:
        made = stack.enter_context(serving(Answers((201, counted()))))
        node.write_config(**SOON, portal_url=f"http://{made.address}")
        yield made


def sampled(node: Node, seconds: float, job: str = "7.0") -> None:
    """Wait until the last checkpoint of a job is from at least so many seconds after its start."""
    path = str(node.state / "jobs" / job / "own/checkpoint")
    wait_until("no checkpoint", lambda: (statefile.read(path) or {"elapsed_s": 0.0})["elapsed_s"] >= seconds)


def starting(node: Node, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(collector_zip()), "ship", "--config", str(node.config)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL, **options)


def sent(portal: Answers) -> list[dict[str, Any]]:
    return [document for path, _, document in portal.requests if path.endswith("node-summaries")]


@pytest.mark.django_db
def test_two_interim_summaries_and_the_final_one_which_alone_stays(node: Node, portal: Answers, now) -> None:
    node.hook("prolog")
    for seconds in (0.6, 1.6):
        sampled(node, seconds)
        node.ship()
    node.hook("epilog")
    wait_until("the final summary did not arrive", lambda: len(sent(portal)) == 3)
    found = sent(portal)
    assert [(payload["sequence"], payload["final"]) for payload in found] == [(1, False), (2, False), (3, True)]
    first, second, final = map(decoded, found)
    # The recent time of the second one begins where the first one ended.
    assert first.recent_s == pytest.approx((first.ended_at - first.started_at).total_seconds(), abs=0.01)
    assert second.recent_s == pytest.approx((second.ended_at - first.ended_at).total_seconds(), abs=0.01)
    assert [gpu.avg_util for gpu in second.gpus] == [90.0, 90.0]
    assert final.recent_s is None
    for payload in (first, second):
        assert record_node_summary(payload, now)
        assert RunningNode.objects.get().sequence == payload.sequence
    assert record_node_summary(final, now)
    assert not record_node_summary(second, now)
    assert (NodeSummary.objects.count(), RunningNode.objects.count()) == (1, 0)
    assert run_metrics(("lumi", 7, 0)).is_final


def test_two_senders_at_once_make_one(node: Node, portal: Answers) -> None:
    node.write_config(**SOON | {"interim_every_s": 3600}, portal_url=f"http://{portal.address}")
    node.hook("prolog")
    sampled(node, 0.6)
    for sender in [starting(node) for _ in range(3)]:
        assert sender.wait(PATIENCE_S) == 0
    assert [payload["sequence"] for payload in sent(portal)] == [1]


def test_while_the_portal_is_down_the_final_one_waits_and_the_interim_one_does_not(node: Node) -> None:
    def spooled() -> list[str]:
        return sorted(path.name.partition("-")[0] for path in (node.state / "spool").iterdir())

    node.write_config(**SOON | {"ship_max_s": 3})
    node.hook("prolog")
    sampled(node, 0.6)
    node.ship()
    assert spooled() == ["interim"]
    node.hook("epilog")
    (final,) = node.spooled()
    assert (final["sequence"], final["final"]) == (2, True)
    # The sender that the hook starts may not have begun.
    wait_until("the sender writes no record", lambda: spooled() == ["record", "summary"])
    wait_until("the sender goes on", lambda: not processes("ship", str(node.config)))
    assert spooled() == ["record", "summary"]


def test_a_full_disk_fails_no_sender_and_the_final_summary_says_so(node: Node, portal: Answers) -> None:
    node.hook("prolog")
    sampled(node, 0.6)
    # No file of more than a hundred bytes: neither the number of the interim summary nor itself fits.
    sender = starting(node, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY)))
    assert sender.wait(PATIENCE_S) == 0
    assert sent(portal) == []
    node.hook("epilog")
    wait_until("the final summary did not arrive", lambda: len(sent(portal)) == 1)
    (final,) = sent(portal)
    assert (final["sequence"], final["final"]) == (1, True)
    assert any("interim summary: OSError: [Errno 27] File too large" in error for error in final["errors"])


def test_a_job_that_is_sampled_again_goes_on_counting(node: Node, portal: Answers) -> None:
    """A node's sampling process dies: the timer's sender starts another, and what it sends goes on from the first."""
    node.hook("prolog")
    sampled(node, 0.6)
    node.ship()
    (pid,) = node.samplers()
    subprocess.run(["kill", "-9", str(pid)], check=True)
    wait_until("the sampling process goes on", lambda: not node.samplers())
    node.ship()
    sampled(node, 2.0)
    node.ship()
    numbers = [payload["sequence"] for payload in sent(portal)]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert len(numbers) >= 2
    last = sent(portal)[-1]
    assert "the collector was restarted 1 times" in last["errors"]
    assert last["recent_s"] > 0
