"""Every GPU and node of a run: the least used first, found by name, some nodes at a time, all of them reachable."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command

from jobs.services import record_job
from metrics.services import record_node_summary
from portal.pages.job.hardware import NODES_A_PAGE, node_page
from tests.analysis.runs import metrics_of
from tests.parts_measured import payloads, record_of_nodes
from tests.payloads import gpu, job_record, node_payload

NODES = [f"nid{number:06d}" for number in range(40)]


def measured(*utils: float | None):
    """A node for each number, at that use."""
    return metrics_of(*(node_payload(node=name, gpus=[gpu(0, use)]) for name, use in zip(NODES, utils, strict=False)))


def test_the_least_used_come_first_and_what_was_not_measured_last() -> None:
    page = node_page(measured(50.0, None, 3.0, 90.0), NODES[:5], {})
    assert [(node.name, node.mean_percent) for node in page.nodes] == [
        ("nid000002", 3.0),
        ("nid000000", 50.0),
        ("nid000003", 90.0),
        ("nid000001", None),
        # It sent nothing at all; Slurm has it.
        ("nid000004", None),
    ]
    assert (page.all_nodes, page.all_gpus, page.nodes[-1].gpus) == (5, 4, ())


def test_the_gpus_of_a_node_are_in_the_same_order() -> None:
    uses = [86.3, 87.8, 0.0, None, 12.5, 0.0]
    run = metrics_of(node_payload(node=NODES[0], gpus=[gpu(number, use) for number, use in enumerate(uses)]))
    (node,) = node_page(run, NODES[:1], {}).nodes
    assert [(row["gpu_id"], row["avg_util"]) for row in node.gpus] == [
        (2, 0.0),
        (5, 0.0),
        (4, 12.5),
        (0, 86.3),
        (1, 87.8),
        (3, None),
    ]


def test_every_node_is_on_one_of_the_pages() -> None:
    run = measured(*(float(number) for number in range(40)))
    pages = [node_page(run, NODES, {"nodes": str(number)}) for number in range(1, 6)]
    assert [len(page.nodes) for page in pages] == [NODES_A_PAGE] * 5
    assert [node.name for page in pages for node in page.nodes] == NODES
    assert pages[0].pages == 5


@pytest.mark.parametrize("asked", ["", "0", "-1", "x", "²", "9" * 30])
def test_a_page_that_is_none_is_the_first(asked: str) -> None:
    assert node_page(measured(1.0), NODES[:1], {"nodes": asked}).number == 1


def test_a_page_past_the_last_is_the_last() -> None:
    assert node_page(measured(*[5.0] * 20), NODES[:20], {"nodes": "99"}).number == 3


def test_a_part_of_a_name_finds_nodes() -> None:
    run = measured(*[5.0] * 20)
    found = node_page(run, NODES[:20], {"node": " NID00001 "})
    assert (found.found, [node.name for node in found.nodes]) == (10, NODES[10:18])
    nothing = node_page(run, NODES[:20], {"node": "gpu"})
    assert (nothing.nodes, nothing.found, nothing.pages) == ((), 0, 1)


def test_the_page_finds_a_node_and_escapes_what_was_asked_for(cast) -> None:
    record_job(job_record(nodes=NODES, node_count=40, gpus_allocated=320))
    for number, name in enumerate(NODES):
        record_node_summary(node_payload(node=name, gpus=[gpu(0, 10.0 + number)]))
    call_command("analyse_job", "--due", verbosity=0)
    client = cast("alice")
    shown = client.get("/jobs/lumi/123456/?node=nid000037").content.decode()
    assert re.findall(r'<th scope="rowgroup">([^<]+)<', shown) == ["nid000037"]
    assert '<details class="folded" id="every-node" open>' in shown
    assert "1 of 40 nodes" in shown
    third = client.get("/jobs/lumi/123456/?nodes=3").content.decode()
    assert re.findall(r'<th scope="rowgroup">([^<]+)<', third) == NODES[16:24]
    assert "nodes=1#every-node" in third
    hostile = client.get("/jobs/lumi/123456/", {"node": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in hostile
    assert "No node of this job has that in its name." in hostile


@pytest.mark.parametrize(
    ("measured", "nodes", "said"),
    [
        (0, 1, "no GPU was measured"),
        (0, 4, "no GPU was measured"),
        (1, 4, "8 GPUs measured on 1 of 4 nodes, least used first"),
        (4, 4, "32 GPUs measured on 4 nodes, least used first"),
        (1, 1, "8 GPUs measured on 1 node, least used first"),
    ],
)
def test_the_heading_counts_the_nodes_that_were_measured(cast, measured: int, nodes: int, said: str) -> None:
    record_job(job_record(**record_of_nodes(nodes)))
    for payload in payloads(measured, 50.0):
        record_node_summary(payload)
    call_command("analyse_job", "--due", verbosity=0)
    page = cast("alice").get("/jobs/lumi/123456/").content.decode()
    assert f"<summary>Every GPU and node <small>{said}</small></summary>" in page
