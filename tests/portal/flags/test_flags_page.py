"""Flags as their owner and PI see them: why, what clears them, and the answer to a request of support."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

import pytest
from django.test import Client
from django.utils import timezone

from analysis.cases.services import request_sharing
from analysis.escalation.services import escalate
from analysis.models import Flag, ShareRequest, SupportCase
from jobs.models import AuditEntry, Job, JobShare, Project, User
from jobs.services import share_job
from portal.charts.flags import side_by_side
from tests.roles import set_role

pytestmark = pytest.mark.django_db

FLAGS, PROJECT = "/flags/", "/projects/project_465000001/"
NO_BREAK = "\u00a0"


def words(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).replace(NO_BREAK, " ").split())


def case_of(kind: str) -> SupportCase:
    return SupportCase.objects.get(flag__kind=kind)


@pytest.fixture
def asked(flagged) -> ShareRequest:
    """Erin asks alice to share jobs."""
    case = case_of("user")
    request_sharing(case, case.version, User.objects.get(username="erin"), timezone.now())
    return ShareRequest.objects.get()


def test_the_owner_reads_why_what_clears_it_and_when_support_sees_it(cast, flagged) -> None:
    shown = words(cast("alice"), FLAGS)
    # 9 jobs of 8 GPU-hours at 22 %: 72, of which 78 % are 56.16.
    assert "of GPU-hours in Inefficient or Wasted 100.0 %" in shown
    assert "GPU-hours unused (estimate) 56.2" in shown
    assert "72.0 of 72.0 GPU-hours were in jobs of class Inefficient or Wasted" in shown
    assert "a share below 33.3 %; it is 100.0 % now" in shown
    # A third of 72.
    assert "less than 24.0 of 72.0" in shown
    assert "no job that counts ended in 14 days" in shown
    assert "Only some of the GPUs were used (9)" in shown
    seen_since = f"{Flag.objects.get(kind='user').visible_to_staff_at:%Y-%m-%d}"
    assert (
        f"Support can see this flag (since {seen_since} ): the sums above to one digit, the findings that at" in shown
    )
    assert "at least 5 jobs have, and single jobs only where their owner shares them." in shown
    assert "this does not affect your account" in shown
    assert "Work “train” in project_465000001" in shown


def test_before_the_grace_is_over_it_states_from_when_on_support_sees_it(cast, flagged) -> None:
    Flag.objects.update(visible_to_staff_at=timezone.now() + timedelta(days=6))
    shown = words(cast("alice"), FLAGS)
    assert "Support cannot see this flag before" in shown
    assert "Support can see this flag" not in shown


def test_a_cleared_flag_stays_with_why_it_cleared(cast, flagged) -> None:
    escalate(timezone.now() + timedelta(days=20))
    shown = words(cast("alice"), FLAGS)
    assert "Nothing of yours is flagged now." in shown
    assert "No job that counts ended in those days." in shown
    assert "See why" not in words(cast("alice"), "/")


def test_the_dashboard_has_one_line_of_it(cast, flagged) -> None:
    assert "Many GPU-hours of your jobs were unused lately." in words(cast("alice"), "/")


def test_a_pi_reads_on_the_dashboard_that_the_project_is_flagged(cast, flagged, reported) -> None:
    line = "Many GPU-hours of project_465000001, which you lead, were unused lately."
    reported(99, user_id="carol")
    assert line in words(cast("carol"), "/").replace(" , ", ", ")
    assert line not in words(cast("alice"), "/").replace(" , ", ", ")


def test_a_request_takes_its_place(cast, asked) -> None:
    shown = words(cast("alice"), "/")
    assert "Support asks to look at some of your jobs, to help you. Answer the request" in shown
    assert "unused lately" not in shown


@pytest.mark.parametrize("name", ["bob", "dave", "erin", "frank", "grace"])
def test_nobody_else_reads_of_it_there(cast, asked, name: str) -> None:
    shown = words(cast(name), FLAGS)
    assert "Nothing of yours is flagged now." in shown
    assert "asks to look" not in shown
    assert "alice" not in shown


def test_a_pi_sees_the_flags_of_the_project_and_its_works_and_not_those_of_members(cast, flagged) -> None:
    own = words(cast("carol"), FLAGS)
    assert "Project project_465000001" in own
    assert "train" not in own
    page = cast("carol").get(PROJECT)
    assert [card.flag.kind for card in page.context["flag_cards"]] == ["work", "project"]
    assert "Flags of members are not shown here" in words(cast("carol"), PROJECT)


def test_members_and_pis_of_other_projects_see_no_flags_of_the_project(cast, flagged) -> None:
    other = Project.objects.create(name="project_465000002")
    set_role(User.objects.get(username="dave"), other, "pi")
    for name in ("alice", "bob"):
        assert cast(name).get(PROJECT).context["flag_cards"] == []
    assert cast("dave").get(PROJECT).status_code == 404
    assert cast("dave").get("/projects/project_465000002/").context["flag_cards"] == []


def listed(client: Client) -> list[str]:
    return re.findall(r'name="job" value="(\d+)"', client.get(FLAGS).content.decode())


def test_the_owner_shares_the_listed_jobs_with_one_click(cast, asked) -> None:
    alice = cast("alice")
    jobs = listed(alice)
    assert len(jobs) == 3
    answer = alice.post(f"/flags/requests/{asked.pk}/", {"answer": "share", "job": jobs}, follow=True)
    assert b"Support can look at 3 jobs for 14 days. You can end this on their pages." in answer.content
    assert sorted(str(share.job_id) for share in JobShare.objects.all()) == sorted(jobs)
    share = JobShare.objects.first()
    assert share.expires_at - share.shared_at == timedelta(days=14)
    case = case_of("user")
    assert (case.state, case.holder.username) == ("claimed", "erin")
    assert case.events.get(kind="answer").text == "3 jobs shared for 14 days."
    assert AuditEntry.objects.filter(action="job_shared", actor="alice").count() == 3
    again = alice.post(f"/flags/requests/{asked.pk}/", {"answer": "share", "job": jobs}, follow=True)
    assert b"This request is no longer open" in again.content
    assert JobShare.objects.count() == 3


def test_or_shares_nothing_with_one_click(cast, asked) -> None:
    answer = cast("alice").post(f"/flags/requests/{asked.pk}/", {"answer": "decline"}, follow=True)
    assert b"Nothing is shared." in answer.content
    assert not JobShare.objects.exists()
    assert case_of("user").events.get(kind="answer").text.startswith("Nothing was shared. No new request before ")
    assert case_of("user").state == "claimed"


def test_only_own_jobs_that_were_listed_are_shared(cast, asked, reported) -> None:
    ended = timezone.now() - timedelta(days=2)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}
    reported(50, user_id="bob", **times)
    other = Job.objects.get(job_id=50)
    answer = cast("alice").post(f"/flags/requests/{asked.pk}/", {"answer": "share", "job": [other.pk]}, follow=True)
    assert b"the jobs to share have changed" in answer.content
    assert not JobShare.objects.exists()
    assert ShareRequest.objects.get().answered_at is None


@pytest.mark.parametrize("name", ["bob", "carol", "dave", "erin", "grace"])
def test_nobody_else_answers_a_request(cast, asked, name: str) -> None:
    assert cast(name).post(f"/flags/requests/{asked.pk}/", {"answer": "decline"}).status_code == 404
    assert ShareRequest.objects.get().answered_at is None


def test_where_all_of_them_are_shared_already_nothing_is_left_to_share(cast, asked) -> None:
    for job in Job.objects.all():
        share_job(job, days=30, note="why?", now=timezone.now())
    assert "All of your jobs that this flag rests on are shared already" in words(cast("alice"), FLAGS)
    cast("alice").post(f"/flags/requests/{asked.pk}/", {"answer": "decline"})
    assert JobShare.objects.filter(revoked_at=None, note="why?").count() == 9


def test_a_cleared_flag_withdraws_the_request(cast, asked) -> None:
    escalate(timezone.now() + timedelta(days=20))
    assert ShareRequest.objects.get().answer == "withdrawn"
    assert "asks to look" not in words(cast("alice"), FLAGS)
    late = cast("alice").post(f"/flags/requests/{asked.pk}/", {"answer": "decline"}, follow=True)
    assert b"This request is no longer open" in late.content
    assert ShareRequest.objects.get().answer == "withdrawn"


def test_a_hostile_name_of_a_job_stays_text(cast, reported) -> None:
    now = timezone.now()
    times = {"ended_at": (now - timedelta(hours=3)).isoformat(), "started_at": (now - timedelta(hours=5)).isoformat()}
    reported(*range(1, 10), job_name="<img src=x onerror=alert(1)>", **times)
    escalate(now)
    assert "<img src=x" not in cast("alice").get(FLAGS).content.decode()


@pytest.mark.parametrize(
    ("fraction", "shown", "limit"),
    [
        (Fraction(1, 3), "33.3", "33.3"),
        (Fraction(334, 1000), "33.4", "33.3"),
        (Fraction(333, 1000), "33.30", "33.33"),
        (Fraction(33334, 100000), "33.334", "33.333"),
        (Fraction(0), "0.0", "33.3"),
        (Fraction(1), "100.0", "33.3"),
    ],
)
def test_a_share_is_shown_on_its_side_of_the_limit(fraction: Fraction, shown: str, limit: str) -> None:
    assert side_by_side(fraction, Fraction(1, 3)) == (f"{shown}{NO_BREAK}%", f"{limit}{NO_BREAK}%")
