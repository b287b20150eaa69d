"""Words, commands and links fit the hardware and the site of a run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analysis.findings import Finding, FindingCode
from education.seeds import neutral_lessons, seed_lessons
from reports.finding_texts import finding_text
from reports.job_report import job_report, with_lessons
from reports.lessons import lesson_view
from reports.markdown import report_markdown
from reports.text import report_text
from reports.vendor import AMD
from tests.payloads import gpu, job_record
from tests.reports.builders import judged, report
from tests.reports.finding_evidence import EVIDENCE

OF_AMD_OR_LUMI = re.compile(
    r"rocm|rccl|rocr|\bhip\b|rocprof|mi250|\bamd\b|lumi|\bgcd\b|dev-g|small-g|standard-g|slingshot", re.IGNORECASE
)
OF_NVIDIA = re.compile(r"nvidia|nccl|cuda|nsight", re.IGNORECASE)
CAMPUS = {"cluster": "campus", "partition": "gpu"}
LOW = [gpu(index, 50.0) for index in range(8)]
PATTERNS = {
    FindingCode.TIMEOUT: [{}, {"pattern": "idle"}, {"pattern": "spinning"}],
    FindingCode.LOW_USE_UNEXPLAINED: [{}, {"busy_cores_per_rank": 1.0}, {"pattern": "failed"}],
}
"""What else the evidence of a finding may state, where its sentences differ by it."""


each_code = pytest.mark.parametrize("code", FindingCode)


@each_code
def test_nobody_on_nvidia_gpus_reads_of_amds_tools_or_lumis_pages(campus: None, code: FindingCode) -> None:
    facts = judged(**CAMPUS).facts
    evidence = {name: value for name, value in EVIDENCE[code].items() if name != "partition"} | {"partition": "gpu"}
    for other in PATTERNS.get(code, [{}]):
        assert not OF_AMD_OR_LUMI.search(finding_text(Finding(code, 0.9, evidence | other), facts))
    lesson = lesson_view(code, seed_lessons(), facts.record, EVIDENCE[code])
    shown = f"{lesson.title} {lesson.text} {lesson.url} {lesson.links}"
    assert lesson.text
    assert lesson.url.startswith("https://")
    assert not OF_AMD_OR_LUMI.search(shown)


@each_code
def test_findings_on_lumi_name_no_tool_of_nvidia(code: FindingCode) -> None:
    assert not OF_NVIDIA.search(finding_text(Finding(code, 0.9, EVIDENCE[code]), judged().facts))


def test_a_whole_report_at_another_site_has_its_words_and_its_bill(campus: None) -> None:
    value = report(LOW, request={}, **CAMPUS)
    content = report_text(value) + report_markdown(value)
    assert "nvidia-smi" in content
    assert "Nsight" in content
    assert not OF_AMD_OR_LUMI.search(content)


def test_unknown_hardware_gets_neutral_words() -> None:
    content = report_text(report(LOW, cluster="elsewhere", partition="gpus", request={}))
    assert "srun --overlap --jobid=JOBID --pty bash" in re.sub(r"\s+", " ", content)
    assert not OF_AMD_OR_LUMI.search(content)
    assert not OF_NVIDIA.search(content)


def test_the_sites_own_link_goes_before_the_lessons(campus: None) -> None:
    code = FindingCode.EXCLUSIVE_NODE_UNDERUSED
    lesson = lesson_view(code, seed_lessons(), job_record(**CAMPUS), {})
    assert lesson.url == "https://docs.example.org/gpu/partitions/"
    assert [link.url for link in lesson.links] == [link.url for link in neutral_lessons()[code].links]


def test_a_lesson_that_staff_wrote_is_shown_as_it_is(campus: None) -> None:
    code = FindingCode.OVERSCALING
    own = replace(seed_lessons()[code], micro="Ask the helpdesk of the campus.")
    assert lesson_view(code, {code: own}, job_record(**CAMPUS), {}).text == "Ask the helpdesk of the campus."
    assert lesson_view(code, {}, job_record(**CAMPUS), {}).text == ""


def test_a_lesson_that_staff_wrote_stands_for_every_sign() -> None:
    code, record = FindingCode.IO_OR_SYNC_STALL, job_record()
    sign = {"points_to": "synchronisation"}
    own = replace(seed_lessons()[code], micro="Ask the helpdesk.")
    assert lesson_view(code, {code: own}, record, sign).text == "Ask the helpdesk."
    assert lesson_view(code, seed_lessons(), record, sign).title == "When ranks wait for each other"
    assert lesson_view(code, seed_lessons(), record, {}).title == seed_lessons()[code].title


def test_a_stored_report_is_shown_with_the_lessons_of_its_hardware(campus: None) -> None:
    stored = job_report(judged(**CAMPUS), {})
    shown = with_lessons(stored, seed_lessons())
    assert {finding.code: finding.lesson.title for finding in shown.findings} == {
        finding.code: neutral_lessons()[FindingCode(finding.code)].title for finding in stored.findings
    }


@each_code
def test_one_step_has_one_command_in_findings_and_lessons(code: FindingCode) -> None:
    # Readers met two commands for a look at a running job, `--interactive --pty` and `--overlap`, and two profilers.
    lesson = seed_lessons()[code]
    said = re.sub(r"\s+", " ", f"{lesson.micro} {lesson.explanation} {lesson.hint}")
    assert set(re.findall(r"srun [^`.]*--jobid=\S+ \S+", said)) <= {AMD.look}
    assert not re.search(r"\brocprof\b(?!-)|rocprof-sys", said)
    assert AMD.look not in re.sub(r"\s+", " ", lesson.micro)


def test_lumis_lessons_are_lumis() -> None:
    code = FindingCode.NO_GPU_USE
    assert lesson_view(code, seed_lessons(), job_record(), {}).text == seed_lessons()[code].micro
