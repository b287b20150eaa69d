"""What people do with a job: say whether it was judged right, share it with support, and see who opened it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import Feedback, FindingRow
from analysis.services import analyse_job, give_feedback
from jobs.models import Job, JobOpening, JobShare, User
from jobs.services import SAME_OPENING, record_opening, share_job

pytestmark = pytest.mark.django_db

PAGE = "/jobs/lumi/123456/"
ANSWER, SHARE, END = PAGE + "feedback/", PAGE + "share/", PAGE + "share/end/"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def alice(cast, reported) -> Client:
    reported()
    return cast("alice")


def text_of(client: Client, path: str = PAGE) -> str:
    return client.get(path).content.decode()


def said(**answer: str) -> dict[str, str]:
    return {"code": "parallelism_mismatch", "answer": "wrong", **answer}


def test_an_answer_is_kept_with_the_rules_it_was_given_on_and_shown(alice) -> None:
    answer = alice.post(ANSWER, said(comment="It was a warm-up <b>run</b>"))
    assert answer["Location"] == f"{PAGE}?attempt=0#said-parallelism_mismatch"
    row = Feedback.objects.get()
    judged = Job.objects.get().efficiency
    assert (row.user.username, row.code, row.is_right) == ("alice", "parallelism_mismatch", False)
    assert row.rules_version == judged.rules_version
    assert "You answered: <strong>wrong</strong>, “<bdi>It was a warm-up &lt;b&gt;run&lt;/b&gt;</bdi>”" in text_of(
        alice
    )


def test_the_last_answer_counts_and_can_be_taken_back(alice) -> None:
    alice.post(ANSWER, said())
    alice.post(ANSWER, said(answer="right"))
    assert list(Feedback.objects.values_list("is_right", flat=True)) == [True]
    alice.post(ANSWER, said(answer="withdraw"))
    assert not Feedback.objects.exists()


def test_an_answer_outlives_a_new_judgement_and_even_its_finding(alice) -> None:
    alice.post(ANSWER, said())
    FindingRow.objects.all().delete()
    analyse_job(Job.objects.get().pk)
    assert "You answered: <strong>wrong</strong>" in text_of(alice)
    FindingRow.objects.filter(code="parallelism_mismatch").delete()
    assert Feedback.objects.count() == 1


@pytest.mark.parametrize("answer", [said(code="timeout"), said(answer="perhaps"), said(comment="x" * 1001), {}])
def test_what_is_no_answer_is_not_kept_and_said_so(alice, answer: dict[str, str]) -> None:
    page = alice.post(ANSWER, answer, follow=True)
    assert "Your answer was not kept" in page.content.decode()
    assert not Feedback.objects.exists()


def test_the_pi_may_answer_and_reads_the_owners_answer_beside_their_own(alice, cast) -> None:
    alice.post(ANSWER, said(code="verdict", comment="It is right for us"))
    carol = cast_again("carol")
    assert carol.post(ANSWER, said(code="verdict", answer="right")).status_code == 302
    page = text_of(carol)
    assert "alice answered: <strong>wrong</strong>, “<bdi>It is right for us</bdi>”" in page
    assert "You answered: <strong>right</strong>" in page


def cast_again(name: str) -> Client:
    """A browser of somebody of the cast, without making the cast twice."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


@pytest.mark.parametrize("path", [ANSWER, SHARE, END])
@pytest.mark.parametrize("name", ["bob", "dave", "erin", "frank", "grace"])
def test_for_everyone_else_there_is_nothing_to_answer_or_share(alice, name: str, path: str) -> None:
    assert cast_again(name).post(path, said(days="7")).status_code == 404


def test_the_pi_of_a_job_does_not_share_it_for_its_owner(alice) -> None:
    assert cast_again("carol").post(SHARE, {"days": "7"}).status_code == 404
    assert not JobShare.objects.exists()


def test_a_shared_job_opens_for_support_alone_until_its_owner_ends_it(alice) -> None:
    erin, dave = cast_again("erin"), cast_again("dave")
    alice.post(SHARE, {"days": "14", "note": f"Why only two? {HOSTILE}"})
    share = JobShare.objects.get()
    assert share.expires_at - share.shared_at == timedelta(days=14)
    page = text_of(erin)
    assert "alice shares this job with support until" in page
    assert HOSTILE not in page
    assert "22.0 %" in page
    assert erin.get("/api/v1/jobs/lumi/123456/report.txt").status_code == 200
    assert erin.get(PAGE + "figures/gpu_use.svg").status_code == 200
    assert "lumi/123456" in text_of(erin, "/support/shared/")
    assert dave.get(PAGE).status_code == 404
    alice.post(END)
    found = {path: erin.get(path).status_code for path in (PAGE, "/api/v1/jobs/lumi/123456/report.txt")}
    assert set(found.values()) == {404}
    assert "lumi/123456" not in text_of(erin, "/support/shared/")
    assert "when you ended it" in text_of(alice)


def test_support_may_look_and_not_answer_and_finds_the_job_in_no_list(alice) -> None:
    alice.post(SHARE, {"days": "7"})
    erin = cast_again("erin")
    assert "Was this right?" not in text_of(erin)
    assert erin.post(ANSWER, said()).status_code == 404
    for path in ("/jobs/", "/jobs.csv", "/api/v1/jobs/", "/history/?of=all"):
        content = erin.get(path)
        assert b"123456" not in (b"".join(content.streaming_content) if content.streaming else content.content)


def test_a_share_ends_by_itself(alice) -> None:
    job, now = Job.objects.get(), timezone.now()
    share_job(job, days=7, note="", now=now - timedelta(days=7, seconds=1))
    assert cast_again("erin").get(PAGE).status_code == 404
    share_job(job, days=7, note="", now=now - timedelta(days=6, hours=23))
    assert cast_again("erin").get(PAGE).status_code == 200


def test_sharing_again_replaces_what_held_and_keeps_the_log(alice) -> None:
    alice.post(SHARE, {"days": "7"})
    alice.post(SHARE, {"days": "30"})
    first, second = JobShare.objects.order_by("pk")
    assert first.revoked_at is not None
    assert second.revoked_at is None


@pytest.mark.parametrize("sent", [{"days": "365"}, {"days": "0"}, {}, {"days": "7", "note": "x" * 501}])
def test_only_the_offered_days_and_a_short_question_are_taken(alice, sent: dict[str, str]) -> None:
    assert b"Not shared" in alice.post(SHARE, sent, follow=True).content
    assert not JobShare.objects.exists()


def test_owners_see_who_opened_their_job_and_their_own_visits_do_not_count(alice) -> None:
    assert "Only you." in text_of(alice)
    carol = cast_again("carol")
    carol.get(PAGE)
    carol.get("/api/v1/jobs/lumi/123456/gpus/")
    alice.post(SHARE, {"days": "7"})
    cast_again("erin").get("/api/v1/jobs/lumi/123456/")
    assert set(JobOpening.objects.values_list("user__username", "role", "times")) == {
        ("carol", "pi", 1),
        ("erin", "support", 1),
    }
    page = text_of(alice)
    assert "PI of the project" in page
    assert "Support staff</td>" in page
    assert "Viewed by" not in text_of(carol)


def test_requests_close_together_are_one_opening(alice, now) -> None:
    job, carol = Job.objects.get(), User.objects.get(username="carol")
    for at in (now, now + SAME_OPENING, now + SAME_OPENING * 2.5, now + SAME_OPENING * 2.6):
        record_opening(job, carol, JobOpening.Role.PI, at)
    opening = JobOpening.objects.get()
    # The second comes after exactly ten minutes and still belongs to the first; the third to neither.
    assert (opening.times, opening.first_at, opening.last_at) == (2, now, now + SAME_OPENING * 2.5)


def test_what_people_said_costs_no_query_for_each(alice) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            alice.get(PAGE)
        return len(seen)

    before = queries()
    job, now = Job.objects.get(), timezone.now()
    for index in range(20):
        reader = User.objects.create_user(f"reader{index}")
        give_feedback(job.efficiency, reader, code="verdict", is_right=True, comment="", now=now)
        record_opening(job, reader, JobOpening.Role.PI, now)
        JobShare.objects.create(job=job, shared_at=now, expires_at=now, revoked_at=now)
    assert queries() == before


def main_of(client: Client) -> str:
    return text_of(client, "/support/feedback/").partition("<main")[2].partition("</main>")[0]


def test_staff_read_nothing_of_an_answer_before_its_month_is_closed(alice, cast: Callable[[str], Client]) -> None:
    job, now = Job.objects.get(), timezone.now()
    erin = cast_again("erin")
    before = main_of(erin)
    for index in range(5):
        reader = User.objects.create_user(f"reader{index}")
        give_feedback(job.efficiency, reader, code="verdict", is_right=index > 0, comment="secret", now=now)
    assert main_of(erin) == before
