"""One report value in five formats: the same facts in each, hostile names harmless in all."""

from __future__ import annotations

import dataclasses
import html as html_parser
import io
import json
import re
from typing import Any

import msgspec
import pytest
from pypdf import PdfReader

from reports.as_json import report_json
from reports.job_report import JobReport
from reports.markdown import report_markdown
from reports.sections import layout
from reports.services import pdf
from reports.services.pdf import report_pdf
from reports.services.rendering import report_html
from reports.text import report_text
from tests.payloads import gpu
from tests.reports.builders import drawn, report, with_lesson
from wire.report_columns import COLUMNS

HOSTILE = "<script>alert(1)</script> [x](http://evil.example) `rm` **b** \x1b[31m\u202e | & www.evil.example"


def pdf_text(value: JobReport) -> str:
    pages = PdfReader(io.BytesIO(report_pdf(value, drawn(value)))).pages
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in pages))


def test_every_format_holds_the_verdict_the_causes_the_diff_and_the_savings() -> None:
    value = report()
    for name, content in in_every_format(value).items():
        for said in (
            "22.0 %",
            "- #SBATCH --gpus-per-node=8",
            "+ #SBATCH --gpus-per-node=2",
            "sustained utilization > 30 %",
            "nid005123: 2-7",
        ):
            assert said in content, (name, said)
    for said in ("22.0 %", "--gpus-per-node=8 -> --gpus-per-node=2", "sustained utilization > 30 %", "nid005123: 2-7"):
        assert said in report_json(value).decode(), said


def test_the_energy_of_idle_modules_is_told_where_it_is_known() -> None:
    # Three idle modules at 100 W for two hours: 0.6 kWh.
    idle = [{"energy_j": 720_000.0} if index in (2, 4, 6) else {} for index in range(8)]
    value = report([gpu(i, 88.0 if i < 2 else 0.0, peak_mem_gb=14.2, **idle[i]) for i in range(8)])
    assert "Idle modules used 0.60 kWh." in re.sub(r"\s+", " ", report_text(value))
    assert "Idle modules" not in report_text(report())


def test_what_was_not_measured_is_said_in_words_and_as_data_as_it_came() -> None:
    said = ("pcie_bandwidth: unsupported", "power: not reported for this GPU")
    value = dataclasses.replace(report(), not_measured=said)
    assert "pcie_bandwidth: unsupported" in report_json(value).decode()
    for content in (re.sub(r"\s+", " ", report_text(value)), report_html(value, drawn(value))):
        assert "PCIe bandwidth: the hardware or its driver does not report it" in content
        assert "GPU power: not reported for this GPU" in content


def test_the_time_in_the_queue_is_told_where_it_is_known() -> None:
    # Could start at 8:29:30, started at 10:00.
    value = report(eligible_at="2026-11-20T08:29:30Z")
    for name, content in in_every_format(value).items():
        assert re.search(r"Waited in the queue\W+1 h 30 min", re.sub("<[^>]+>", " ", content)), name
    assert json.loads(report_json(value))["job"]["eligible_at"] == "2026-11-20T08:29:30Z"
    for unknown in ({}, {"eligible_at": "2026-11-20T10:00:01Z"}):
        assert "queue" not in report_text(report(**unknown)).partition("The job\n")[2]


def test_the_json_is_the_agreed_shape() -> None:
    value = json.loads(report_json(report()))
    assert value["schema"] == "job-report/1"
    assert {"job", "efficiency", "findings", "recommendations", "savings", "not_measured", "figures"} <= set(value)
    agreed = (
        "job_id efficiency_class avg_gpu_util coverage_fraction partial effective_gpus effective_gpus_fraction"
        " peak_gpu_mem_gb gpu_hours wasted_gpu_hours idle_gpu_hours rules_version"
    )
    assert set(agreed.split()) <= set(value["efficiency"])
    assert value["job"]["schema"] == "job-record/1"
    assert value["recommendations"][0]["recommended_gpus"] == 2
    assert value["savings"]["gpu_hours"] == pytest.approx(6.0)
    assert value["figures"] == ["gpu_use", "gpu_memory", "gpu_heatmap"]


def test_the_stored_value_comes_back_unchanged() -> None:
    value = report(job_name=HOSTILE)
    assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(value))), JobReport) == value


def test_an_unmeasured_job_is_unknown_in_words_and_has_no_figures() -> None:
    value = report([])
    text = report_text(value)
    assert value.efficiency.efficiency_class == "UNKNOWN"
    assert "The GPU use of your job was not measured: UNKNOWN." in text
    assert re.search(r"Mean GPU use +not measured", text)
    assert "WASTED" not in text
    assert value.figures == ()
    assert "<img" not in report_html(value, {})


def test_only_a_job_that_used_its_gpus_is_told_that_its_request_fits() -> None:
    fits, unmeasured = "The request fits the job", "no request can be suggested"
    assert fits in report_text(report([gpu(index, 90.0) for index in range(8)]))
    for content in map(flat, (report_text(report([])), report_html(report([]), {}), report_markdown(report([])))):
        assert fits not in content
        assert unmeasured in content
        assert "no cause can be named" in content


@pytest.mark.parametrize("width", [20, 40, 50, 61, 77, COLUMNS])
def test_text_fits_its_width_but_for_addresses_and_lines_of_a_script(width: int) -> None:
    text = report_text(report(job_name=HOSTILE * 3), width=width)
    long = [line for line in text.splitlines() if len(line) > width and not re.search("https://|#SBATCH", line)]
    assert long == []


@pytest.mark.parametrize("width", [20, 40, 77])
def test_a_narrow_text_has_every_word(width: int) -> None:
    def words(text: str) -> str:
        return re.sub(r"[\s:]+|[=-]{3,}|Kaiku: .*", "", text)

    assert words(report_text(report(), width=width)) == words(report_text(report()))


def test_paragraphs_and_rows_of_a_narrow_text_keep_their_shape() -> None:
    lines = report_text(report(), width=40).splitlines()
    at = lines.index("1. Some GPUs stayed idle")
    assert all(line.startswith("   ") for line in lines[at + 1 : at + 4])
    assert {"Mean GPU use                22.0 %", "Host memory: 80.2 GB of 480.0 GB"} <= set(lines)
    assert lines[lines.index("Time limit                  3 h 00 min") + 1] == ""


def html_text(value: JobReport) -> str:
    """What a browser shows of the HTML file, with its other tags: options are in elements that no line breaks."""
    return flat(html_parser.unescape(re.sub("</?span[^>]*>", "", report_html(value, drawn(value)))))


def flat(text: str) -> str:
    """Text without its line ends."""
    return re.sub(r"\s+", " ", text).strip()


def in_every_format(value: JobReport) -> dict[str, str]:
    """What each format shows to people."""
    return {
        "text": flat(report_text(value)),
        "markdown": flat(report_markdown(value).replace("\\", "")),
        "html": html_text(value),
        "pdf": flat(pdf_text(value)),
    }


def test_every_format_holds_the_short_lesson_of_each_finding() -> None:
    value = report()
    lessons = [flat(finding.lesson.text) for finding in value.findings]
    assert len(set(lessons)) == 2
    for name, content in in_every_format(value).items():
        for lesson in lessons:
            # A PDF breaks words at hyphens, with a space where the line ends.
            shown, said = (re.sub(r"- ", "-", text) if name == "pdf" else text for text in (content, lesson))
            assert shown.count(said) == 1, (name, said)


def test_a_lesson_that_two_findings_share_stands_once_in_every_format() -> None:
    value = with_lesson("Give every GPU a process.")
    assert len(value.findings) == 2
    for name, content in in_every_format(value).items():
        assert content.count("Give every GPU a process.") == 1, name


def test_a_finding_without_a_lesson_has_no_line_for_one() -> None:
    value = with_lesson("")
    assert "Lesson:" not in report_text(value)
    assert "Lesson:" not in report_markdown(value)


def test_no_lesson_can_act_in_markdown_or_end_its_finding() -> None:
    lines = report_markdown(with_lesson("First.\n\n# Heading\n- <b>item</b>\n```")).splitlines()
    assert "   *Lesson:* First. \\# Heading - \\<b\\>item\\</b\\> \\`\\`\\`" in lines


def test_no_lesson_can_act_on_a_terminal() -> None:
    assert "\x1b" not in report_text(with_lesson("a \x1b[31mred lesson"))


def test_the_lines_of_a_text_never_break_an_option() -> None:
    # However much stands before it, at one of these lengths the option meets the end of the line.
    for before in range(40, 78):
        assert "--ntasks-per-node" in report_text(with_lesson("x" * before + " --ntasks-per-node"))


def test_text_and_markdown_have_the_order_of_the_page() -> None:
    value = dataclasses.replace(report(), not_measured=("power: unsupported",))
    sections = ["Suggested request", "Findings", "Measurements", "Further reading", "The job", "Not measured"]
    heads = {
        "text": re.findall(r"^(.+)\n-{3,}$", report_text(value), re.MULTILINE),
        "markdown": re.findall(r"^## (.+)$", report_markdown(value), re.MULTILINE),
        "html": re.findall(r"<h2 id=[^>]+>(.+)</h2>", report_html(value, {})),
    }
    assert heads["text"] == heads["markdown"] == sections
    # A page has its links beside the lessons, and the facts of the job below its title.
    assert heads["html"] == [head for head in sections if head not in ("Further reading", "The job")]


def test_no_name_can_act_on_a_terminal() -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", report_text(report(job_name=HOSTILE)))


def test_no_name_can_act_in_markdown() -> None:
    title = report_markdown(report(job_name=HOSTILE)).splitlines()[0]
    assert "\\<script\\>" in title
    assert "\\[x\\](http\\://evil" in title
    assert "\\`rm\\`" in title
    assert "www\\.evil" in title
    assert not re.search(r"(?<!\\)[<>`|]", title)


def test_no_name_can_act_in_html() -> None:
    content = report_html(report(job_name=HOSTILE), {})
    assert "<script" not in content
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in content


def test_the_html_file_loads_nothing_and_runs_nothing() -> None:
    value = report()
    content = report_html(value, drawn(value))
    assert "default-src 'none'" in content
    assert set(re.findall(r'(?:src|href)="([a-z]+):', content)) == {"data", "https"}
    assert content.count("<svg ") == content.count('role="img"') == 3
    assert not re.search(r"<(script|link|iframe)|\son\w+=|\sstyle=", content)


def test_a_pdf_is_made_without_reading_anything(tmp_path) -> None:
    # A name that became an image would be fetched here: the file must not appear in the PDF, nor may it fail.
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text y="9">TOPSECRET</text></svg>')
    value = report([gpu(0)], job_name=f'<img src="file://{secret}">')
    made = report_pdf(
        value, {"gpu_use": f'<svg xmlns="http://www.w3.org/2000/svg"><image href="file://{secret}"/></svg>'.encode()}
    )
    assert "TOPSECRET" not in "".join(page.extract_text() for page in PdfReader(io.BytesIO(made)).pages)


def test_a_pdf_is_tagged_titled_and_in_english() -> None:
    value = report()
    reader = PdfReader(io.BytesIO(report_pdf(value, drawn(value))))
    assert reader.metadata.title == "Kaiku: Job 123456, train"
    assert reader.trailer["/Root"]["/Lang"] == "en"
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"]


def test_only_inferences_are_told_with_how_sure_they_are() -> None:
    # Two of eight GPUs: that six were idle was counted, that few processes were started is inferred.
    value = report()
    data = {finding["code"]: finding for finding in json.loads(report_json(value))["findings"]}
    assert (data["idle_gpus"]["basis"], data["parallelism_mismatch"]["basis"]) == ("counted", "inferred")
    assert data["idle_gpus"]["confidence"] == 1.0
    for content in (report_text(value), report_markdown(value), report_html(value, {})):
        assert content.count("confidence 9") == 1


@pytest.mark.parametrize(
    ("confidence", "shown"), [(0.19, "low confidence"), (0.2, "confidence 20 %"), (0.93, "confidence 93 %")]
)
def test_next_to_no_confidence_has_no_percentage(confidence: float, shown: str) -> None:
    mismatch = next(finding for finding in report().findings if finding.code == "parallelism_mismatch")
    value = dataclasses.replace(report(), findings=(dataclasses.replace(mismatch, confidence=confidence),))
    assert flat(layout(value).findings[0].sure) == shown


def test_a_whole_request_stands_once_in_every_format_with_its_introduction() -> None:
    # Nothing of the request is known, and the limit was far too long: both pieces of advice carry the same block.
    value = report(request={}, walltime_requested_s=86_400.0)
    block = value.recommendations[0].request
    assert [advice.request for advice in value.recommendations] == [block, block]
    assert "--gpus-per-node=2" in block
    for name, content in in_every_format(value).items():
        assert content.count("#SBATCH --gpus-per-node=2") == 1, name
        assert content.count("Your own options are not known. Replace your #SBATCH lines with:") == 1, name
        assert "+ #SBATCH" not in content, f"{name}: nothing is added to lines that are replaced"
        assert "- #SBATCH" not in content, name
        assert "->" not in content, name
    advice = json.loads(report_json(value))["recommendations"][0]
    assert (advice["kind"], advice["basis"], advice["diff"]) == ("gpus", "active_gpus", [])
    assert advice["request"] == list(block)


def test_fewer_gpus_at_the_same_bill_are_advised_for_the_queue() -> None:
    saved = "The bill stays the same, but smaller requests often start sooner."
    assert saved in re.sub(r"\s+", " ", report_text(dataclasses.replace(report(), savings=None)))
    assert saved not in re.sub(r"\s+", " ", report_text(report()))


@pytest.mark.parametrize(
    ("record", "class_name"),
    [
        ({"state": "TIMEOUT"}, "Inefficient, time limit reached"),
        ({"state": "FAILED", "exit_code": "2:0"}, "Inefficient, failed (exit code 2)"),
        ({"state": "FAILED", "exit_code": "2:0", "walltime_used_s": 99.0}, "Not judged, failed (exit code 2)"),
        ({"state": "OUT_OF_MEMORY"}, "Inefficient, out of host memory"),
        ({"state": "CANCELLED"}, "Inefficient, cancelled"),
        ({"state": "NODE_FAIL"}, "Not judged, ended by the system"),
    ],
)
def test_how_a_run_ended_stands_beside_its_class_in_every_format(record: dict[str, Any], class_name: str) -> None:
    value = report(**record)
    assert class_name.upper() in re.sub(r"\s+", " ", report_text(value))
    assert class_name in report_markdown(value).replace("\\", "")
    assert class_name in report_html(value, {})


def test_an_unmeasured_failure_says_how_it_ended() -> None:
    content = re.sub(r"\s+", " ", report_text(report([], state="FAILED", exit_code="1:0", walltime_used_s=99.0)))
    assert "Your job ended with exit code 1 after 1 min 39 s; its GPU use was not measured" in content
    assert "UNKNOWN, FAILED (EXIT CODE 1)" in content


def test_without_pango_a_pdf_says_what_to_install_and_html_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "HTML", None)
    monkeypatch.setattr(pdf, "PANGO_ERROR", OSError("cannot load library 'libpango-1.0-0'"), raising=False)
    with pytest.raises(pdf.PdfUnavailable, match=re.escape("apt-get install --yes libpango-1.0-0 libpangoft2-1.0-0")):
        report_pdf(report(), {})
    assert "22.0\u00a0%" in report_html(report(), {})


def test_lines_that_go_and_come_have_a_sign_and_a_colour() -> None:
    html = report_html(report(), {})
    assert '<span class="kr-line kr-gone">- #SBATCH <span class="whole">--gpus-per-node=8</span>\n</span>' in html
    assert '<span class="kr-line kr-new">+ #SBATCH <span class="whole">--gpus-per-node=2</span>\n</span>' in html
    assert "```diff\n- #SBATCH --gpus-per-node=8\n+ #SBATCH --gpus-per-node=2\n" in report_markdown(report())


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    assert "22.0\u00a0%" in report_html(report(), {})
    assert not re.search(r"\d %", layout(report()).headline)
    for before in range(60, 80):
        assert re.search(
            r"\d %", report_text(with_lesson("x" * before + " 67 %")).partition("Lesson:")[2].partition("\n\n")[0]
        )
    assert "\u00a0" not in report_text(report()) + report_markdown(report())


def test_a_complete_request_is_no_diff_in_markdown_and_has_no_colour_of_an_addition() -> None:
    value = report(request={})
    assert "```\n#SBATCH --partition=small-g\n" in report_markdown(value)
    assert "```diff" not in report_markdown(value)
    assert "kr-new" not in report_html(value, {}).rpartition("</style>")[2]
    assert "    #SBATCH --partition=small-g\n" in report_text(value)
