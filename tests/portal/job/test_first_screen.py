"""The first screen of a job: how it went in four numbers, what to change, and for whom it is written."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace

import pytest
from django.core.management import call_command
from pypdf import PdfReader

from jobs.services import record_job
from metrics.services import record_node_summary
from portal.pages.job.answer import answer
from reports.job_report import SavingsView
from reports.reader import as_read_by_others
from reports.sections import layout
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import report

PAGE = "/jobs/lumi/123456/"


def text_of(client, path: str = PAGE) -> str:
    """What a person reads: without tags, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", client.get(path).content.decode()).split())


@pytest.mark.parametrize(
    ("billed", "unused", "saved", "numbers", "saves"),
    [
        # 63.8767 - 49.9490 is 13.9277, although 63.9 - 49.9 would be 14.0.
        (63.8767, 49.9490, 42.55, ["49.9", "13.9", "63.9"], "saves 42.5 of 63.9 GPU-hours"),
        (14.55001, 11.44, 10.94, ["11.4", "3.11", "14.6"], "saves 10.9 of 14.6 GPU-hours"),
        (9.996, 5.004, 0.004, ["5.00", "4.99", "10.00"], ""),
        (1024.0, None, 512.0, ["not measured", "1,024.0"], "saves 512.0 of 1,024.0 GPU-hours"),
        (None, None, 3.0, ["price not known"], ""),
    ],
)
def test_used_hours_are_the_difference_of_unrounded_ones(billed, unused, saved, numbers, saves) -> None:
    found = report()
    seen = replace(found.efficiency, gpu_hours=billed, wasted_gpu_hours=unused, peak_gpu_mem_fraction=0.224)
    first = answer(replace(found, efficiency=seen, savings=SavingsView(saved, "the same run time")))
    assert [row.value for row in first.numbers] == [*numbers, "22 %"]
    assert first.saves == saves
    if unused is not None:
        downloaded = {row.label: row.value for row in layout(replace(found, efficiency=seen)).numbers}
        assert downloaded["Used GPU-hours"] == first.numbers[1].value


def test_the_owner_reads_the_answer_and_the_lines_to_copy(cast, reported) -> None:
    reported()
    page = cast("alice").get(PAGE)
    assert [(line.sign, line.text) for line in page.context["page"].request[:2]] == [
        ("-", "#SBATCH --gpus-per-node=8"),
        ("+", "#SBATCH --gpus-per-node=2"),
    ]
    text = text_of(cast("alice"))
    assert "Your job kept its 8 GPUs busy 22.0 % of the time" in text
    assert re.search(r"saves [\d.]+ of 8\.00 GPU-hours", text)
    assert 'data-copy="#SBATCH --gpus-per-node=2\n' in page.content.decode()


def test_for_a_pi_it_is_a_members_job(cast, reported) -> None:
    reported()
    text = text_of(cast("carol"))
    assert "alice's job kept its 8 GPUs busy" in text.replace("&#x27;", "'")
    assert not re.search(r"\byour?s?\b", text.partition("Every GPU and node")[0], re.IGNORECASE)
    assert "note and tags" not in text


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED", "OUT_OF_MEMORY"])
@pytest.mark.parametrize("gpus", [None, [], [gpu(0, 0.0)], [gpu(index, 90.0) for index in range(8)]])
def test_nothing_that_a_report_says_speaks_to_somebody_else(state: str, gpus) -> None:
    page = as_read_by_others(layout(report(gpus, state=state)), "alice")
    said = [page.headline, page.verdict, page.no_causes, page.no_advice, page.savings, page.origin]
    said += [text for each in page.findings for text in (each.title, each.text, each.lesson_text, each.lesson_title)]
    said += [page.introduction, *page.recommendations]
    assert [text for text in said if re.search(r"\byou", text, re.IGNORECASE)] == []


@pytest.mark.one_database
def test_downloads_read_for_each_reader_as_the_page_does(cast, reported) -> None:
    reported()

    def downloads(name: str) -> dict[str, str]:
        read = {kind: cast(name).get(f"/api/v1{PAGE}report.{kind}").content for kind in ("txt", "md", "html", "pdf")}
        pages = PdfReader(io.BytesIO(read.pop("pdf"))).pages
        texts = {
            kind: re.sub(r"<style>.*?</style>", " ", each.decode(), flags=re.DOTALL) for kind, each in read.items()
        }
        texts["pdf"] = " ".join(page.extract_text() for page in pages)
        return {kind: " ".join(html.unescape(text).replace("\\", "").split()) for kind, text in texts.items()}

    # The owner's PDF is stored between the two, and neither reader gets that of the other.
    for _ in range(2):
        for kind, text in downloads("carol").items():
            assert "alice's job kept its 8 GPUs busy" in text, kind
            assert "this does not affect alice's account" in text, kind
            assert not re.search(r"\byour?s?\b", text, re.IGNORECASE), kind
        for kind, text in downloads("alice").items():
            assert "Your job kept its 8 GPUs busy" in text, kind


def test_each_finding_and_figure_has_an_address_of_its_own(cast, reported) -> None:
    reported()
    page = cast("alice").get(PAGE).content.decode()
    for anchor in ("finding-parallelism_mismatch", "figure-gpu_use", "figure-gpu_heatmap", "figure-gpu_memory"):
        assert f'id="{anchor}"' in page
        assert f'href="#{anchor}" aria-label=' in page
    assert page.count('id="') == len(set(re.findall(r'id="([^"]+)"', page)))


def test_findings_are_marked_on_the_figure_and_in_words(cast) -> None:
    util = [0.0] * 30 + [85.0] * 60 + [0.0] * 30
    timeline = {"step_s": 60.0, "util": util, "mem_gb": []}
    histogram = {"0": 3600.0, "85": 3600.0}
    gpus = [
        gpu(number, 42.5, timeline=timeline, util_histogram_s=histogram, idle_s=3600.0, active_s=3600.0)
        for number in range(8)
    ]
    record_job(job_record())
    record_node_summary(node_payload(gpus=gpus))
    call_command("analyse_job", "--due", verbosity=0)
    client = cast("alice")
    marks = {mark.code: mark.words for mark in client.get(PAGE).context["figures"]["gpu_use"].marks}
    assert marks["late_start"] == "first 30 min 00 s"
    assert marks["idle_tail"] == "last 30 min 00 s"
    assert ": first 30 min 00 s" in text_of(client)
    assert b"#b3005e" in client.get(f"{PAGE}figures/gpu_use.svg?size=broad").content


def test_a_finding_by_the_title_of_its_pattern_also_has_the_title_of_the_lists() -> None:
    def kind_of(code: str, title: str) -> str:
        value = report()
        found = replace(value.findings[0], code=code, title=title)
        return layout(replace(value, findings=(found,))).findings[0].kind

    stall = "The GPUs waited for files or for each other"
    assert kind_of("io_or_sync_stall", "GPU use fell after the start") == stall
    assert kind_of("io_or_sync_stall", stall) == ""
    assert kind_of("low_use_unexplained", "The program failed, and we found no clear cause") == ""


def test_one_download_stands_out_and_the_others_stay_behind_more(cast, reported) -> None:
    reported()
    page = cast("alice").get(PAGE).content.decode()
    before_more, _, more = page.partition('<details class="more">')
    assert "report.pdf" in before_more
    assert "report.json" not in before_more
    for name in ("html", "md", "txt", "json"):
        assert f"report.{name}?attempt=0" in more


def test_the_runs_of_the_same_work_before_and_after_are_one_click_away(cast, reported) -> None:
    for number in (1, 2, 3):
        reported(number, job_name="train", ended_at=f"2026-11-2{number}T12:00:00Z", started_at="2026-11-20T10:00:00Z")
    client = cast("alice")
    around = [client.get(f"/jobs/lumi/{number}/").context["neighbours"] for number in (1, 2, 3)]
    assert [each.earlier_url for each in around] == ["", "/jobs/lumi/1/?attempt=0", "/jobs/lumi/2/?attempt=0"]
    assert [each.later_url for each in around] == ["/jobs/lumi/2/?attempt=0", "/jobs/lumi/3/?attempt=0", ""]


def test_terms_are_explained_where_they_stand(cast, reported) -> None:
    reported()
    page = cast("alice").get(PAGE).content.decode()
    assert re.search(r'id="term-unused-gpu-hours" popover><b>Unused GPU-hours</b>: Billed GPU-hours in which', page)
    opened = set(re.findall(r'class="term" popovertarget="([^"]+)"', page))
    assert {"term-unused-gpu-hours", "term-state", "term-idle"} <= opened
    assert [page.count(f'id="{anchor}"') for anchor in opened] == [1] * len(opened)
