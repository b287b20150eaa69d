"""A project's page: who sees what part of it, what its rows add up to, and where their links lead."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from analysis.models import JobEfficiency
from jobs.models import Job, Project, ProjectAllocation
from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import an_hour_ago_today, text

PATH = "/projects/project_465000001/"


@pytest.fixture
def since() -> str:
    """The first day of the last thirty."""
    return f"{timezone.localtime() - timedelta(days=29):%Y-%m-%d}"


@pytest.fixture
def allocated(cast) -> None:
    """1,000 GPU-hours for a year of which 100 days are gone, 600 of them used."""
    today = timezone.localdate()
    ProjectAllocation.objects.create(
        source="lumi",
        project=Project.objects.get(),
        gpu_hours=1000.0,
        used_gpu_hours=600.0,
        begins_on=today - timedelta(days=100),
        ends_on=today + timedelta(days=265),
        read_at=timezone.now(),
    )


def times(days_ago: int = 0) -> dict[str, str]:
    ended = an_hour_ago_today() - timedelta(days=days_ago)
    return {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}


def listed(client, url: str) -> int:
    """How many jobs the list at this address holds."""
    lines = b"".join(client.get(url.replace("/jobs/", "/jobs.csv"))).decode().splitlines()
    return len(lines) - 1


def test_a_member_sees_the_own_part_of_a_project_and_the_pi_all_with_its_members(cast, recent, since: str) -> None:
    assert cast("alice").get(PATH).context["sum"].jobs == 2
    bob = cast("bob").get(PATH)
    assert (bob.context["sum"].jobs, bob.context["members"], bob.context["works"]) == (0, [], [])
    carol = cast("carol").get(f"{PATH}?days=30")
    rows = [(row.sums.username, row.sums.role, row.sums.jobs) for row in carol.context["members"]]
    assert rows == [("alice", "Member", 2), ("bob", "Member", 0), ("carol", "PI", 0)]
    alice = carol.context["members"][0]
    assert (alice.sums.mean_util, alice.wasted_fraction) == (pytest.approx(22.0), pytest.approx(0.78))
    assert alice.url == f"/jobs/?project=project_465000001&since={since}&zone=site&owner=alice"
    page = carol.content.decode()
    assert page.count("None yet") == 2, "two members without jobs"
    assert "Table of members" not in text(cast("alice"), PATH)


def test_the_links_to_jobs_say_how_many_more_they_lead_to_than_were_counted(cast, reported) -> None:
    reported(1, 2, **times())
    reported(3, user_id="bob", **times())
    JobEfficiency.objects.filter(job__job_id=2).update(uncounted_reason="short")
    # Cancelled before they started: no analysis has them.
    for job_id, owner in ((4, "alice"), (5, "carol")):
        record_job(job_record(job_id=job_id, user_id=owner, state="CANCELLED", **times() | {"started_at": None}))
    answer = cast("carol").get(f"{PATH}?days=30")
    rows = {row.sums.username: (row.sums.jobs, row.uncounted) for row in answer.context["members"]}
    assert rows == {"alice": (1, 2), "bob": (1, 0), "carol": (0, 1)}
    assert all(listed(cast("carol"), row.url) == sum(rows[row.sums.username]) for row in answer.context["members"])
    page = " ".join(answer.content.decode().split())
    assert "in these 30 days</a>: 5, 2 of them counted above; 3 more not counted or not analysed" in page
    assert "2 more not counted</small>" in page
    assert "1 not counted or not analysed</td>" in page
    assert "days</a>: 3, 1 of them counted above; 2 more" in " ".join(text(cast("alice"), f"{PATH}?days=30").split())


def test_works_add_up_by_name_with_most_unused_hours_first(cast, reported, since: str) -> None:
    reported(1, 2, 3, job_name="gromacs", **times())
    reported(4, job_name="cp2k", user_id="bob", **times())
    reported(5, 6, job_name="bash", **times())
    JobEfficiency.objects.filter(job__job_id=4).update(wasted_gpu_hours=30.0, saved_gpu_hours=None)
    carol = cast("carol").get(f"{PATH}?days=30")
    rows = [
        (row.name, row.owner, row.sums.jobs, row.sums.gpu_hours, row.sums.wasted_gpu_hours, row.sums.saved_gpu_hours)
        for row in carol.context["works"]
    ]
    # 8.0 GPU-hours a run, 78 % unused, and 2 of 8 GPUs are enough.
    assert rows == [
        ("cp2k", "bob", 1, 8.0, 30.0, None),
        ("gromacs", "alice", 3, pytest.approx(24.0), pytest.approx(18.72), pytest.approx(18.0)),
        ("Jobs without a name of their own", "", 2, pytest.approx(16.0), pytest.approx(12.48), pytest.approx(12.0)),
    ]
    named, unnamed = carol.context["works"][1:]
    key = Job.objects.get(job_id=3).work_key
    assert named.jobs_url == f"/jobs/?project=project_465000001&since={since}&zone=site&work={key}"
    assert cast("carol").get(named.url).status_code == 200, "the page of that work"
    assert (unnamed.url, unnamed.jobs_url) == ("", "")
    alice = cast("alice").get(f"{PATH}?days=30")
    assert [(row.name, row.sums.jobs) for row in alice.context["works"]] == [
        ("gromacs", 3),
        ("Jobs without a name of their own", 2),
    ]


def test_works_of_like_names_and_of_one_name_in_two_persons_have_addresses_of_their_own(cast, reported) -> None:
    """A search by name would list gromacs_test too, and the jobs of bob."""
    reported(1, job_name="gromacs", **times())
    reported(2, job_name="gromacs_test", **times())
    reported(3, job_name="gromacs", user_id="bob", **times())
    works = cast("carol").get(f"{PATH}?days=7").context["works"]
    keys = {parse_qs(urlsplit(row.jobs_url).query)["work"][0] for row in works}
    assert keys == {run.work_key for run in Job.objects.all()}
    assert len(keys) == 3
    assert {urlsplit(row.url).path for row in works} == {f"/work/{key}/" for key in keys}
    first_day = f"{timezone.localtime() - timedelta(days=6):%Y-%m-%d}"
    for row in works:
        chosen = parse_qs(urlsplit(row.jobs_url).query)
        assert (chosen["project"], chosen["since"]) == (["project_465000001"], [first_day])


def test_only_the_first_works_are_listed_and_the_page_shows_that(cast, reported) -> None:
    reported(1, **times())
    assert "the first 10" not in text(cast("carol"), PATH)
    for number in range(11):
        reported(10 + number, job_name=f"work {'abcdefghijk'[number]}", **times())
    carol = cast("carol").get(PATH)
    assert len(carol.context["works"]) == 10
    assert "the first 10" in carol.content.decode()


def test_a_finding_leads_to_the_jobs_of_this_project_and_period_alone(cast, reported, since: str) -> None:
    reported(1, 2, **times())
    reported(3, **times(days_ago=60))
    reported(4, project_id="project_465000002", **times())
    for name in ("carol", "alice"):
        row = cast(name).get(f"{PATH}?days=30").context["findings"][0]
        assert row.jobs == 2
        assert row.url == f"/jobs/?project=project_465000001&since={since}&zone=site&finding={row.code}"
        assert listed(cast(name), row.url) == 2


def test_the_hours_of_all_findings_are_no_more_than_the_unused_ones(cast, recent) -> None:
    context = cast("carol").get(PATH).context
    assert len(context["findings"]) > 1
    total = sum(row.wasted_gpu_hours for row in context["findings"]) + context["without_finding"]
    assert total == pytest.approx(context["sum"].wasted_gpu_hours) == pytest.approx(12.48)


def test_the_pi_gets_the_project_as_data_too(cast, recent) -> None:
    answer = cast("carol").get("/api/v1/projects/project_465000001/summary/?days=30").json()
    assert (answer["jobs"], answer["days"], answer["median_gpu_util"]) == (2, 30, pytest.approx(22.0))
    assert answer["classes"] == [{"efficiency_class": "INEFFICIENT", "jobs": 2, "gpu_hours": pytest.approx(16.0)}]
    first, *others = answer["findings"]
    assert first == {"code": "idle_gpus", "jobs": 2, "wasted_gpu_hours": pytest.approx(12.48)}
    assert {row["wasted_gpu_hours"] for row in others} == {0.0}


@pytest.mark.parametrize("name", ["alice", "carol"])
def test_who_belongs_to_a_project_sees_its_hours_against_the_allocation(cast, recent, allocated, name: str) -> None:
    line = cast(name).get(PATH).context["allocation"]
    assert (line.used_fraction, line.pace.word, line.used_width) == (pytest.approx(0.6), "faster", 60.0)
    assert line.left_gpu_hours == pytest.approx(400.0)
    page = " ".join(text(cast(name), PATH).split())
    assert "600.0 of 1,000 GPU-hours used (60 %); 27 % of the time has passed (the mark): faster than planned." in page
    assert "600.0 of 1,000 GPU-hours used (60 %)" in " ".join(text(cast(name), "/projects/").split())


def test_the_forecast_is_for_the_pi_alone_and_others_get_the_average_so_far(cast, recent, allocated) -> None:
    carol = " ".join(text(cast("carol"), PATH).split())
    # 16.0 in 30 days are 0.53 a day; 400 left last 750 days, and on the last day, in 265, 258.7 would be left.
    assert "It lasts until the allocation ends, with about <b>258.7 GPU-hours</b> left" in carol
    assert "0.53 GPU-hours a day" in carol
    assert "the last 30 days: 2 jobs that Kaiku saw" in carol
    assert 'id="burn-down"' in carol
    assert f">Today, {timezone.localdate():%-d %b %Y}</text>" in carol
    alice = " ".join(text(cast("alice"), PATH).split())
    # 100 days for 60 % are 166.7 for all.
    day = timezone.localdate() + timedelta(days=66)
    assert f"At the average rate so far it runs out about <b>{day:%-d %B %Y}</b>" in alice
    assert "GPU-hours a day" not in alice
    assert 'id="burn-down"' not in alice


def test_a_project_without_an_allocation_shows_none(cast, recent) -> None:
    assert "allocation" not in text(cast("carol"), PATH)
    assert cast("carol").get("/api/v1/projects/project_465000001/summary/").json()["allocation"] is None


def test_use_that_nobody_counts_is_stated_and_not_filled_in(cast, recent, allocated) -> None:
    ProjectAllocation.objects.update(used_gpu_hours=None, source="waldur")
    page = text(cast("alice"), PATH)
    assert "It does not report how much is used." in page
    assert 'class="meter"' not in page
    assert "No forecast: the use of the allocation is not reported." in text(cast("carol"), PATH)
    answer = cast("carol").get("/api/v1/projects/project_465000001/summary/").json()["allocation"]
    assert (answer["gpu_hours"], answer["used_gpu_hours"], answer["source"]) == (1000.0, None, "waldur")


@pytest.mark.parametrize("name", ["dave", "erin"])
def test_a_project_of_others_is_answered_like_one_that_does_not_exist(cast, recent, name: str) -> None:
    assert cast(name).get(PATH).status_code == 404
    assert cast(name).get("/projects/project_465000099/").status_code == 404


def test_the_list_of_projects_names_the_role(cast) -> None:
    assert "Your role: PI" in text(cast("carol"), "/projects/")
    assert "No project" in text(cast("dave"), "/projects/")


def test_a_membership_that_ended_ends_the_access_at_the_next_request(cast, recent) -> None:
    carol = cast("carol")
    assert carol.get(PATH).status_code == 200
    Project.objects.get().memberships.filter(user__username="carol").delete()
    assert carol.get(PATH).status_code == 404
    assert carol.get("/jobs/lumi/1/").status_code == 404
