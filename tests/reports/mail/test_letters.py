"""What a letter says and how it is built: both texts, figures inside, safe headers, one click to stop."""

from __future__ import annotations

import re
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape

import pytest
from django.utils.html import strip_tags

from jobs.models import User
from reports.mail.digest import Choices, Frequency
from reports.mail.services.letters import letter
from reports.mail.services.preferences import save_choices
from reports.mail.services.sending import deliver_due
from reports.models import Delivery, Report
from reports.selectors import report_value, told_reports
from reports.services.links import opt_out_address, opt_out_user
from tests.doors import ENDED_AT, hooks_payload
from tests.mail_server import Post
from tests.payloads import gpu
from tests.reports.builders import WHOLE_REQUEST
from tests.reports.conftest import DUE_AT
from wire.report_columns import COLUMNS

pytestmark = pytest.mark.django_db

NEW_LINES = ("- #SBATCH --gpus-per-node=8", "+ #SBATCH --gpus-per-node=2")
BUSY = [gpu(index, 90.0) for index in range(8)]
BLAME = ("waste", "inefficient", "bad", "poor", "fail", "warning", "problem")


@pytest.fixture
def told(ended, smtp: Post):
    """Report some jobs and hand over the message that tells of them."""

    def tell(*job_ids: int, **record: object) -> EmailMessage:
        ended(*job_ids, **record)
        deliver_due(10, DUE_AT + timedelta(hours=2))
        return smtp.messages[-1]

    return tell


def part(message: EmailMessage, content_type: str) -> str:
    return next(part for part in message.walk() if part.get_content_type() == content_type).get_content()


def flat(text: str) -> str:
    """Text without its line ends, and without the elements that keep an option on one line."""
    return re.sub(r"\s+", " ", re.sub("</?span[^>]*>", "", text))


def test_options_and_hours_are_kept_on_one_line(told) -> None:
    # At the width of a phone `--gpus-per-node` ended a line after its hyphens, "6.00 GPU-hours" before "hours".
    html = part(told(), "text/html")
    for whole in ("--ntasks-per-node=8", "rocm-smi", "6.00\u00a0GPU-hours"):
        assert re.search(f'<span class="whole">[(]?{re.escape(whole)}', html), whole
    assert ".whole { display: inline-block;" in html


def test_a_job_named_after_a_program_has_its_hint_in_both_texts(told) -> None:
    message = told(job_name="gmx_min")
    for kind in ("text/plain", "text/html"):
        said = unescape(flat(part(message, kind)))
        assert "This looks like GROMACS: “gmx” is in the job's name." in said, kind
        assert "https://docs.csc.fi/apps/gromacs/" in said, kind


def test_the_letter_is_text_beside_html_with_its_figures_inside(told) -> None:
    message = told()
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "image/png",
        "image/png",
    ]
    html = part(message, "text/html")
    for picture in (part for part in message.walk() if part.get_content_maintype() == "image"):
        assert f'src="cid:{picture["Content-ID"][1:-1]}"' in html
        assert picture.get_content_disposition() == "inline"
        assert picture.get_content().startswith(b"\x89PNG")
    assert html.count("alt=") == 3


def test_both_texts_say_the_same_numbers_and_advice(told) -> None:
    message = told()
    for text in (flat(part(message, "text/plain")), flat(part(message, "text/html"))):
        for said in ("22.0 %", *NEW_LINES, "6.24", "/jobs/lumi/123456/?attempt=0"):
            assert said in text, said


def test_a_letter_loads_nothing_from_anywhere(told) -> None:
    html = part(told(), "text/html")
    assert "<script" not in html
    assert 'src="http' not in html
    assert "@import" not in html


def test_the_headers_mark_it_as_automatic_and_let_one_click_end_it(told, settings) -> None:
    settings.SITE_URL = "https://kaiku.example"
    message = told()
    alice = User.objects.get(username="alice")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe"] == f"<{opt_out_address(alice)}>"
    assert message["List-Unsubscribe"].startswith("<https://kaiku.example/mail/stop/")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["Message-ID"] == f"<{Delivery.objects.get().key}@hpc.example>"
    assert (message["From"], message["To"]) == ("Kaiku <kaiku@hpc.example>", "alice@users.example")
    for text in (part(message, "text/plain"), part(message, "text/html")):
        assert opt_out_address(alice) in text
        assert "https://kaiku.example/settings/" in text


def test_the_subject_names_the_job_and_what_was_not_used_without_blame(told) -> None:
    subject = told(gpus=[gpu(index, 0.0) for index in range(8)])["Subject"]
    # Eight GPUs for two hours, one GPU-hour for each GPU and two hours: none of the 8.00 was used.
    assert subject == "Kaiku: job 123456, train, 8.00 GPU-hours unused"
    assert not any(word in subject.lower() for word in BLAME)


HOSTILE = {
    "a new line": "train\r\nBcc: all@users.example\r\n\r\nHello",
    "HTML": '<img src=x onerror="alert(1)"></title>',
    "a right-to-left override": "train\u202egpj.exe\u2066\u200f\u061c",
    "a template": "{{ settings.SECRET_KEY }}{% include 'x' %}",
    "ten thousand letters": "x" * 10_000,
    "nulls and bells": "a\x00b\x07c\x1b[31m",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_job_name_stays_a_name(told, smtp: Post, name: str) -> None:
    message = told(job_name=name)
    assert smtp.recipients == ["alice@users.example"]
    # A first word that is encoded and long stands on a folded line (RFC 5322, section 2.2.3).
    subject = message["Subject"].strip()
    assert subject.startswith("Kaiku: job 123456, ")
    assert len(subject) < 110
    assert subject.isprintable()
    assert message["Bcc"] is None
    assert len(message.get_all("Subject")) == 1
    html = part(message, "text/html")
    assert "<img src=x" not in html
    assert html.count("</title>") == 1
    assert "x" * 300 not in html


def test_several_jobs_are_a_list_each_with_its_class_and_advice(told) -> None:
    message = told(1, 2, 3, 4)
    assert message["Subject"] == "Kaiku: 4 jobs, 25.0 GPU-hours unused"
    html, text = part(message, "text/html"), part(message, "text/plain")
    # Each was billed 8.00 GPU-hours of which 22 % was used: 4 x 6.24 = 24.96.
    assert "4 jobs, 25.0\u00a0GPU-hours unused" in html
    assert text.startswith("4 jobs, 25.0 GPU-hours unused")
    assert html.count('class="button"') == 1
    for job_id in range(1, 5):
        assert f"/jobs/lumi/{job_id}/?attempt=0" in html
        assert f"Job {job_id}, train: Inefficient" in text
    assert [text.count(line) for line in NEW_LINES] == [4, 4]


def test_hundreds_of_jobs_are_a_list_of_twenty_and_a_number(told) -> None:
    message = told(*range(1, 26))
    assert message["Subject"] == "Kaiku: 25 jobs, 156 GPU-hours unused"
    text = part(message, "text/plain")
    assert text.count(", train: Inefficient") == 20
    # 5 x 6.24, of 25 x 6.24 = 156 in the subject.
    assert "And 5 more, 31.2 GPU-hours unused: " in text


def test_an_array_is_told_as_one_with_the_span_of_its_tasks(ended, told) -> None:
    ended(4711, array_job_id=4711, array_task_id=0, gpus=BUSY)
    message = told(4712, array_job_id=4711, array_task_id=1)
    assert message["Subject"] == "Kaiku: array 4711, train (2 tasks), 7.04 GPU-hours unused"
    text = part(message, "text/plain")
    assert "GPU use 22.0 % to 90.0 %" in text
    assert "Tasks by class:" in text


def crashed(job_id: int, hour: float, **record: object) -> dict[str, object]:
    """A run of `train` that failed after half an hour, so many hours before the end of the others."""
    ended_at = ENDED_AT - timedelta(hours=hour)
    times = {"ended_at": ended_at.isoformat(), "started_at": (ended_at - timedelta(minutes=30)).isoformat()}
    return {"state": "FAILED", "exit_code": "1:0", "walltime_used_s": 1800.0} | times | record


def test_crashes_of_one_work_are_one_line_and_other_runs_keep_theirs(ended, told) -> None:
    ended(1, **crashed(1, 2))
    ended(2, **crashed(2, 1))
    ended(3, **crashed(3, 0.5, job_name="evaluate"))
    ended(4, gpus=BUSY)
    message = told(5, **crashed(5, 0))
    text = re.sub(r"\s+", " ", part(message, "text/plain"))
    assert "3 runs of this work failed within 2 h 00 min (exit code 1), last: job 5." in text
    assert "3 runs of train: Inefficient, failed (exit code 1)" in text
    assert "Job 3, evaluate: Inefficient, failed (exit code 1)" in text
    assert "Job 4, train: Efficient" in text
    assert text.count("failed within") == 1
    assert not any(word in message["Subject"].lower() for word in BLAME)


def test_crashes_too_far_apart_or_of_no_known_work_are_no_series(ended, told) -> None:
    ended(1, **crashed(1, 7))
    ended(2, **crashed(2, 0.5, job_name="bash"))
    ended(3, **crashed(3, 0.4, job_name="bash"))
    text = part(told(4, **crashed(4, 0)), "text/plain")
    assert "of this work failed" not in text
    assert text.count("failed (exit code 1)") == 4


def test_a_short_crash_beside_another_job_says_how_it_ended(ended, told) -> None:
    ended(1, state="FAILED", exit_code="1:0", walltime_used_s=99.0, started_at="2026-11-20T11:58:21Z")
    text = flat(part(told(2), "text/plain"))
    assert "Ran for less than 5 minutes: not counted. Failed (exit code 1)." in text


NOT_SEEN = {"gpus": [], "request": WHOLE_REQUEST | {"--mem": "120G"}, "memory_requested_gb": 120.0}
"""A run that nobody measured, on 8 GPUs with a quarter of the 480 GB that come with them."""


def test_an_unmeasured_run_beside_another_says_how_it_ended_and_what_to_change(ended, told) -> None:
    ended(1, state="OUT_OF_MEMORY", exit_code="0:125", job_name="oomer", **NOT_SEEN)
    ended(2, state="TIMEOUT", job_name="longer", **NOT_SEEN)
    ended(3, state="FAILED", exit_code="3:0", job_name="crasher", **NOT_SEEN)
    ended(4, job_name="silent", **NOT_SEEN)
    message = told(5)
    assert message["Subject"] == "Kaiku: job 5, train, 6.24 GPU-hours unused"
    text, html = flat(part(message, "text/plain")), flat(unescape(strip_tags(part(message, "text/html"))))
    for said in (
        "Job 1, oomer: GPU use not measured. Out of host memory. Suggested request: - #SBATCH --mem=120G + #SBATCH",
        "Job 2, longer: GPU use not measured. Time limit reached.",
        "Job 3, crasher: GPU use not measured. Failed (exit code 3).",
        "Job 4, silent: GPU use not measured. ",
    ):
        assert said in text, said
        assert said in html, said


def test_what_ended_beside_several_jobs_is_told_in_the_same_words_and_fits_the_page(ended, told) -> None:
    ended(1, state="OUT_OF_MEMORY", job_name="oomer", **NOT_SEEN)
    ended(2, state="FAILED", exit_code="137:0", walltime_used_s=99.0, started_at="2026-11-20T11:58:21Z", gpus=[])
    text = part(told(3, 4), "text/plain")
    told_of_1 = [
        "Job 1, oomer: GPU use not measured. Out of host memory. Suggested request:",
        "    - #SBATCH --mem=120G",
        "    + #SBATCH --mem=480G",
    ]
    lines = text.splitlines()
    assert lines[lines.index(told_of_1[0]) :][:3] == told_of_1
    assert "not counted. Failed (exit code 137, which means signal 9)." in flat(text)
    assert [line for line in text.splitlines() if len(line) > COLUMNS and "http" not in line] == []


def test_an_unmeasured_run_has_its_other_findings_told_too(ended, told) -> None:
    # Two hours of two days: nothing but the limit can be judged.
    two_days = {"walltime_requested_s": 172_800.0, "request": WHOLE_REQUEST | {"--time": "2-00:00:00"}}
    ended(1, job_name="long", gpus=[], **two_days)
    text = flat(part(told(2), "text/plain"))
    assert (
        "Job 1, long: GPU use not measured. Much more time was requested than used. Suggested request: - #SBATCH --t"
        in text
    )


def test_the_tasks_of_an_array_say_how_they_ended(ended, told) -> None:
    # The one measured task is told in full; the four beside it are one line.
    for task, state in enumerate(("COMPLETED", "OUT_OF_MEMORY", "OUT_OF_MEMORY", "TIMEOUT")):
        ended(10 + task, state=state, array_job_id=10, array_task_id=task, **NOT_SEEN)
    text = flat(part(told(20, array_job_id=10, array_task_id=9), "text/plain"))
    assert "Job 20, train" in text
    assert (
        "Array 10, train (4 tasks): GPU use not measured. Tasks by class: 4 Unknown. Outcomes: 2 out of host"
        " memory, 1 completed, 1 time limit reached. Suggested request: - #SBATCH --mem=120G + #SBATCH --mem=480G"
        in text
    )


def test_an_array_whose_tasks_completed_does_not_say_so(ended, told) -> None:
    ended(1, array_job_id=1, array_task_id=0)
    text = part(told(2, array_job_id=1, array_task_id=1, gpus=BUSY), "text/plain")
    assert "Tasks by class: 1 Inefficient, 1 Efficient." in text
    assert "How they ended" not in text


def test_crashes_that_nobody_measured_are_a_series_that_says_how_it_ended(ended, told) -> None:
    ended(1, **crashed(1, 2, state="OUT_OF_MEMORY", exit_code="0:125") | NOT_SEEN)
    ended(2, **crashed(2, 1, state="OUT_OF_MEMORY", exit_code="0:125") | NOT_SEEN)
    text = flat(part(told(3, job_name="evaluate"), "text/plain"))
    assert "2 runs of train: GPU use not measured. 2 runs of this work failed within 1 h 00 min" in text
    assert "(out of host memory), last: job 2. Suggested request: - #SBATCH --mem=120G + #SBATCH --mem=480G" in text


def test_the_preview_of_an_unmeasured_run_is_its_whole_report_once(ended) -> None:
    ended(1, state="OUT_OF_MEMORY", exit_code="0:125", job_name="oomer", **NOT_SEEN)
    made = letter(User.objects.get(), "key", list(told_reports(Report.objects.all())), with_pdf=False)
    assert made.subject == "Kaiku: job 1, oomer"
    assert "Your job ran out of host memory after 2 h 00 min" in made.body
    assert made.body.count("    - #SBATCH --mem=120G\n    + #SBATCH --mem=480G\n") == 1
    assert "This report online: " in made.body
    assert "Other ended jobs" not in made.body


def test_a_letter_of_one_job_holds_the_short_lesson_of_each_finding(told) -> None:
    message = told()
    shown = [report_value(row).findings for row in Report.objects.all()]
    lessons = [flat(finding.lesson.text).strip() for finding in shown[0]]
    assert len(lessons) == 2
    for text in (flat(part(message, "text/plain")), flat(unescape(part(message, "text/html")))):
        assert [text.count(lesson) for lesson in lessons] == [1, 1]


@pytest.mark.parametrize(("state", "is_better"), [("COMPLETED", True), ("FAILED", False), ("TIMEOUT", False)])
def test_only_a_completed_run_is_an_improvement(ended, told, state: str, is_better: bool) -> None:
    three_h_before, five_h_before = (ENDED_AT - timedelta(hours=hours) for hours in (3, 5))
    ended(1, ended_at=three_h_before.isoformat(), started_at=five_h_before.isoformat())
    text = part(told(2, gpus=BUSY, state=state), "text/plain")
    assert ("Better than" in text) == is_better


def test_a_short_job_beside_another_is_named_and_said_not_to_count(ended, told) -> None:
    ended(1, walltime_used_s=100.0, started_at="2026-11-20T11:58:20Z")
    message = told(2)
    assert message["Subject"] == "Kaiku: job 2, train, 6.24 GPU-hours unused"
    assert "Job 1, train: GPU use" in part(message, "text/plain")
    assert "Ran for less than 5 minutes: not counted." in part(message, "text/html")


def test_an_improvement_is_told_with_both_numbers(ended, told) -> None:
    ended(1, **hooks_payload(1, "train_v1", ended_at=ENDED_AT - timedelta(hours=2)))
    save_choices(User.objects.get(), Choices(Frequency.IMMEDIATE), DUE_AT)
    message = told(2, **hooks_payload(2, "Train-v2.sh"), gpus=BUSY)
    said = "Better than the last comparable run: was Inefficient (22.0 %), now Efficient (90.0 %)."
    assert said in flat(part(message, "text/plain"))
    assert said in flat(part(message, "text/html"))


@pytest.mark.parametrize(
    ("name", "changes"), [("evaluate", {}), ("bash", {}), ("train", {"state": "FAILED"}), ("train", {"elapsed_s": 299})]
)
def test_nothing_is_said_of_a_run_that_is_not_comparable(ended, told, name: str, changes: dict) -> None:
    ended(1, **hooks_payload(1, name, ended_at=ENDED_AT - timedelta(hours=2), **changes))
    save_choices(User.objects.get(), Choices(Frequency.IMMEDIATE), DUE_AT)
    message = told(2, **hooks_payload(2, "bash" if name == "bash" else "train"), gpus=BUSY)
    assert "comparable run" not in part(message, "text/plain")


def test_an_efficient_job_is_told_so(told) -> None:
    message = told(gpus=BUSY)
    assert "No change needed." in part(message, "text/plain")
    assert 'class="badge efficient"' in part(message, "text/html")


def test_the_link_belongs_to_one_person_and_cannot_be_guessed(ended) -> None:
    ended(1)
    ended(2, user_id="bob")
    alice, bob = User.objects.get(username="alice"), User.objects.get(username="bob")
    token = opt_out_address(alice).rstrip("/").rpartition("/")[2]
    assert opt_out_user(token) == alice
    signature = token.partition(":")[2]
    for forged in (f"{bob.pk}:{signature}", str(alice.pk), f"{token}x", "x:y", ""):
        assert opt_out_user(forged) is None


def test_without_a_mail_server_every_message_is_one_file(ended, settings, tmp_path) -> None:
    settings.EMAIL_BACKEND = "reports.mail.services.files.FileBackend"
    settings.EMAIL_FILE_PATH = tmp_path / "outbox"
    ended()
    assert deliver_due(10, DUE_AT) == 1
    (file,) = (tmp_path / "outbox").iterdir()
    assert file.suffix == ".eml"
    message = message_from_bytes(file.read_bytes(), policy=policy.default)
    assert message["Subject"] == "Kaiku: job 123456, train, 6.24 GPU-hours unused"
    assert part(message, "text/plain").startswith("Kaiku: Job 123456, train")
