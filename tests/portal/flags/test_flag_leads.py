"""What a flag leads to: exactly its jobs, where to begin, and what support did about it, for whom it concerns."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from analysis.cases.services import request_sharing
from analysis.escalation.selectors import counted_runs
from analysis.escalation.services import escalate
from analysis.models import Flag, JobEfficiency, ShareRequest, SupportCase
from analysis.rollups.services import note_all
from jobs.models import Job, User
from portal.middleware.reader_preferences import COOKIE

pytestmark = pytest.mark.django_db

FLAGS, PROJECT = "/flags/", "/projects/project_465000001/"
HOUR = timedelta(hours=1)


def words(client: Client, path: str) -> str:
    content = client.get(path).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", content).replace("\u00a0", " ").split())


def case_of(kind: str) -> SupportCase:
    return SupportCase.objects.get(flag__kind=kind)


@pytest.fixture
def asked(flagged) -> ShareRequest:
    """Erin asks alice to share jobs."""
    case = case_of("user")
    request_sharing(case, case.version, User.objects.get(username="erin"), timezone.now())
    return ShareRequest.objects.get()


def around_the_window(reported) -> None:
    """Beside the nine jobs of the flag: two outside of its days, and one of each kind that it does not count."""
    now = timezone.now()

    def job(job_id: int, days_ago: float, hours: float = 2.0, **more: object) -> None:
        ended = now - timedelta(days=days_ago)
        times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=hours)).isoformat()}
        reported(job_id, walltime_used_s=hours * 3600, **times, **more)

    job(50, 30)
    job(51, 8, hours=0.05)
    job(52, 8, state="NODE_FAIL")
    job(53, 8, hours=0.15, state="FAILED")
    job(54, 8, user_id="bob")
    job(56, 8)
    Job.objects.filter(job_id=56).update(is_told_by_owner=True)
    JobEfficiency.objects.filter(job__job_id=56).update(is_told_by_owner=True)
    note_all(timezone.now())
    escalate(now)


@pytest.mark.parametrize("name", ["alice", "carol"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_a_flag_links_to_exactly_the_jobs_that_it_counts(cast, flagged, reported, name: str, zone: str) -> None:
    around_the_window(reported)
    client = cast(name)
    client.cookies[COOKIE] = zone
    cards = {card.flag.kind: card for card in client.get(FLAGS).context["raised"]}
    cards |= {card.flag.kind: card for card in client.get(PROJECT).context["flag_cards"]}
    expected = {"user": set(range(1, 10)), "work": set(range(1, 10)), "project": {*range(1, 10), 54}}
    assert set(cards) == ({"user", "work"} if name == "alice" else {"work", "project"})
    for kind, card in cards.items():
        assert card.last.counted.jobs == len(expected[kind]), kind
        assert set(counted_runs(card.flag).values_list("job__job_id", flat=True)) == expected[kind], kind
        page = client.get(card.jobs_url)
        assert (page.context["page"].count, page.context["ignored"]) == (card.last.counted.jobs, []), kind
        assert f'href="{escape(card.jobs_url)}"' in client.get(FLAGS if name == "alice" else PROJECT).content.decode()


def test_the_flag_of_a_pi_links_to_her_own_jobs_alone(cast, flagged, reported) -> None:
    now = timezone.now()
    times = {"ended_at": (now - HOUR).isoformat(), "started_at": (now - 3 * HOUR).isoformat()}
    reported(*range(70, 79), user_id="carol", **times)
    escalate(now)
    card = next(card for card in cast("carol").get(FLAGS).context["raised"] if card.flag.kind == "user")
    assert card.last.counted.jobs == 9
    assert "owner=carol" in card.jobs_url
    assert cast("carol").get(card.jobs_url).context["page"].count == 9


def test_a_request_lists_jobs_of_the_flag_and_states_which(cast, asked, reported) -> None:
    # More unused than any job of the flag, but before its days: it is not offered.
    ended = timezone.now() - timedelta(days=30)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=20)).isoformat()}
    reported(60, walltime_used_s=72_000.0, **times)
    (item,) = cast("alice").get(FLAGS).context["asked"]
    assert {run.job.job_id for run, _ in item.runs} <= set(range(1, 10))
    last = Flag.objects.get(kind="user").at_last
    days = f"{last.first_day:%Y-%m-%d} to {last.last_day:%Y-%m-%d}"
    line = f"of the 9 jobs counted for the flag “ All your GPU jobs ”, {days}, those with the most unused GPU-hours"
    assert line in words(cast("alice"), FLAGS)


def test_a_flag_of_a_project_points_its_pi_to_the_works(cast, flagged) -> None:
    content = cast("carol").get(FLAGS).content.decode()
    assert f'<a href="{PROJECT}?days=30#works">the works with the most unused GPU-hours</a>' in content
    page = cast("carol").get(f"{PROJECT}?days=30").content.decode()
    assert 'id="works"' in page
    assert "your <a" not in content.split("Where to begin:")[1].split("</p>")[0]


def test_the_owner_reads_what_support_did_and_no_note_of_staff(cast, flagged) -> None:
    erin, path = cast("erin"), f"/support/queue/{case_of('user').pk}/"
    assert "Support: nobody has claimed this flag yet." in words(cast("alice"), FLAGS)

    def act(name: str, **sent: str) -> None:
        erin.post(f"{path}{name}/", {"version": case_of("user").version} | sent)

    act("change", action="claim")
    act("note", text="Secret thoughts")
    act("request")
    shown = words(cast("alice"), FLAGS)
    today = f"{timezone.now():%Y-%m-%d}"
    assert (
        f"Support: {today} : Claimed (erin of support). {today} : Asked you to share some jobs (erin of support). "
        f"{today} : Waiting for you (erin of support)." in shown
    )
    cast("alice").post(f"/flags/requests/{ShareRequest.objects.get().pk}/", {"answer": "decline"})
    act("change", action="resolve")
    shown = words(cast("alice"), FLAGS)
    assert f"{today} : You answered: nothing was shared." in shown
    assert f"{today} : Closed: resolved (erin of support)." in shown
    assert "Secret" not in shown
    assert "erin" not in words(cast("bob"), FLAGS)
    assert "erin" not in words(cast("carol"), PROJECT), "what support does with a member is not for the PI"


def test_a_cleared_flag_states_that_support_closed_it(cast, flagged) -> None:
    case = case_of("user")
    cast("erin").post(f"/support/queue/{case.pk}/change/", {"action": "claim", "version": case.version})
    escalate(timezone.now() + timedelta(days=20))
    shown = words(cast("alice"), FLAGS)
    assert "Claimed (erin of support)." in shown
    assert "Closed, as the flag cleared." in shown


def test_the_pi_reads_what_support_did_about_the_project(cast, flagged) -> None:
    case = case_of("project")
    cast("erin").post(f"/support/queue/{case.pk}/change/", {"action": "dismiss", "version": case.version})
    assert "Closed: no help needed (erin of support)." in words(cast("carol"), FLAGS)
