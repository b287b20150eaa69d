"""What a node's collector could not do, from the payload that says so to every form of the report."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pypdf import PdfReader

from metrics.models import NodeSummary
from tests.payloads import gpu, record, summary
from tests.tokens import create_collector_token
from wire.report_columns import COLUMNS

pytestmark = pytest.mark.django_db

REPORT, PAGE = "/api/v1/jobs/lumi/123456/report.", "/jobs/lumi/123456/"
SHARED = "GPU 1 was job 4711's as well for some of the time: its use is of both"
HOSTILE = "<script>alert(1)</script> [x](http://evil.example) \x1b[31m `rm`" + "y" * 5000
SAID = (
    "On 2 nodes: nothing was measured: the collector was not started for this job",
    "On nid005123: another job also had GPU 1 for part of the time: the measured use includes both jobs",
    "On nid005123: sampling paused for 31 s",
)


@pytest.fixture
def alice(cast, client: Client) -> Client:
    """The owner of a run on three nodes; on two nothing was sampled, and on the first a GPU was another job's too."""
    headers = {"Authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"}
    nodes = ["nid005123", "nid005124", "nid005125"]
    why = "not sampled: no prolog ran for this job on this node"
    unmeasured = [gpu(index, None, peak_mem_gb=None, missing={"avg_util": why}) for index in range(8)]
    first = summary(errors=[SHARED, "sampling stood still for 31 s", "before on this node, 2 times: ship: no token"])
    others = [summary(node=node, gpus=unmeasured, cpu=None, errors=[why]) for node in nodes[1:]]
    shape = {"nodes": nodes, "node_count": 3, "gpus_allocated": 24, "gpus_requested": 24, "request": {}}
    for path, document in (("node-summaries", [first, *others]), ("job-records", record(**shape))):
        answer = client.post(f"/api/v1/ingest/{path}", document, content_type="application/json", headers=headers)
        assert answer.status_code == 201
    call_command("analyse_job", "--due", verbosity=0)
    return cast("alice")


def shown(client: Client) -> dict[str, str]:
    """What every form of the report and the page show to people, on one line each."""
    formats = {name: client.get(REPORT + name).content for name in ("txt", "md", "html", "json", "pdf")}
    pages = PdfReader(io.BytesIO(formats.pop("pdf"))).pages
    texts = {name: content.decode() for name, content in formats.items()}
    texts["md"] = texts["md"].replace("\\", "")
    texts["pdf"] = " ".join(page.extract_text() for page in pages)
    texts["page"] = client.get(PAGE).content.decode()
    return {name: re.sub(r"\s+", " ", html.unescape(text)) for name, text in texts.items()}


@pytest.mark.one_database
def test_every_form_of_the_report_says_once_what_concerns_the_run_and_where(alice: Client) -> None:
    for name, text in shown(alice).items():
        for said in SAID:
            assert text.count(said) == 1, (name, said)
        # Slurm's reason would say the same of each GPU.
        assert "no prolog ran" not in text, name
        assert "ship" not in text, name


def test_nobody_reads_the_number_of_the_other_job(alice: Client) -> None:
    everything = shown(alice) | {"gpus": alice.get("/api/v1/jobs/lumi/123456/gpus/").content.decode()}
    everything["job"] = alice.get("/api/v1/jobs/lumi/123456/").content.decode()
    assert [name for name, text in everything.items() if "4711" in text] == []
    assert "another job's" in NodeSummary.objects.get(node="nid005123").errors[0]


def test_as_data_it_stands_among_what_was_not_measured(alice: Client) -> None:
    not_measured = json.loads(alice.get(REPORT + "json").content)["not_measured"]
    assert not_measured[:3] == list(SAID)


def test_the_number_is_gone_where_a_collector_gives_it_as_the_reason_of_a_gap(cast, client: Client) -> None:
    """Without a single sample the first error is the reason of each GPU."""
    headers = {"Authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"}
    gpus = [gpu(index, None, peak_mem_gb=None, missing={"avg_util": SHARED}) for index in range(8)]
    for path, document in (("node-summaries", summary(gpus=gpus, errors=[SHARED])), ("job-records", record())):
        client.post(f"/api/v1/ingest/{path}", document, content_type="application/json", headers=headers)
    call_command("analyse_job", "--due", verbosity=0)
    alice = cast("alice")
    for path in (f"{REPORT}json", f"{REPORT}txt", PAGE, "/api/v1/jobs/lumi/123456/gpus/"):
        assert "4711" not in alice.get(path).content.decode(), path


def test_a_hostile_text_acts_nowhere_and_stays_short(cast, client: Client) -> None:
    headers: dict[str, Any] = {"Authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"}
    hostile = [HOSTILE] + [f"fault {chr(97 + index % 26)}{chr(97 + index // 26)}" for index in range(200)]
    for path, document in (("node-summaries", summary(errors=hostile)), ("job-records", record())):
        client.post(f"/api/v1/ingest/{path}", document, content_type="application/json", headers=headers)
    call_command("analyse_job", "--due", verbosity=0)
    alice = cast("alice")
    text, page = alice.get(f"{REPORT}txt").content.decode(), alice.get(PAGE).content.decode()
    assert "\x1b" not in text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\\<script\\>alert(1)\\</script\\> \\[x\\](http\\://evil" in alice.get(f"{REPORT}md").content.decode()
    assert alice.get(f"{REPORT}pdf").content.startswith(b"%PDF")
    assert "more errors of the collector" in page
    lines = text.partition("Not measured\n")[2].splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= COLUMNS
