"""A month of the policy export is added up once from the roll-ups, after the site closed it, and stays as it is."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from analysis.models import AdviceOutcome, ClosedMonth, Flag, JobEfficiency, PolicyRow, RollUpDue
from analysis.months.services import close_months
from analysis.outcomes.services import settle_due
from analysis.policy.keys import user_key
from analysis.policy.selectors import lines_of, policy_months, rows_of, withheld_counts
from analysis.policy.services import POLICY, remove_policy_rows
from analysis.rollups.services import note_all, roll_up_due
from jobs.models import Job, Project, User
from portal.months import SITE
from tests.analysis.outcomes.test_settling import run as advised_run
from tests.analysis.site.test_months import NOW, OCTOBER, run

pytestmark = pytest.mark.django_db

PEOPLE = ("alice", "bob", "carol", "dave", "erin")
SHARES = {"efficient": 1.0, "acceptable": 0.0, "inefficient": 0.0, "wasted": 0.0, "unknown": 0.0}


@pytest.fixture
def five(db) -> None:
    """Each of five people has a run of 8 GPU-hours at 75 % in one project."""
    for number, user in enumerate(PEOPLE, start=1):
        run(number, user)


@pytest.fixture
def five_times(five) -> None:
    """Each of the five has five such runs: enough that their rows show how they used their GPUs."""
    for number in range(31, 51):
        run(number, PEOPLE[number % 5])


def close(now: datetime = NOW) -> int:
    close_months(SITE, now)
    return close_months(POLICY, now)


def lines(kind: str = "") -> list[dict[str, Any]]:
    return list(lines_of(rows_of(policy_months(), kind)))


def test_the_rows_of_a_month_by_hand(five) -> None:
    assert close() == 1
    (project,) = lines("project")
    # 5 runs of 8 GPU-hours at 75 %; the step is 2: 40 allocated, 30 used, 10 unused.
    assert (project["period"], project["key"], project["name"], project["withheld"]) == (
        "2026-10", "project_465000001", None, None,
    )  # fmt: skip
    assert (project["jobs"], project["gpu_hours"], project["unused_gpu_hours"]) == (5, 40.0, 10.0)
    assert (project["efficiency_score"], project["coverage_fraction"], project["flag"]) == (75.0, 1.0, False)
    assert project["classes_by_gpu_hours"] == project["classes_by_jobs"] == SHARES
    # 75 % is 5 of 30 points above Efficient: 1 + 0.2 / 6 = 1.033.
    assert project["suggested_multiplier"] == 1.03
    users = lines("user")
    # 8 GPU-hours are of the band from 5, and one run of that from 1: fewer than 5 show no figure of this run, and
    # suggest nothing.
    assert [(row["gpu_hours"], row["jobs"], row["efficiency_score"]) for row in users] == [(5.0, 1, None)] * 5
    assert [(row["unused_gpu_hours"], row["suggested_multiplier"]) for row in users] == [(None, 1.0)] * 5
    assert {row["withheld_columns_reason"] for row in users} == {"few_jobs"}
    assert [row["key"] for row in users] == sorted(row["key"] for row in users)


def test_it_waits_for_the_site_and_for_the_roll_ups(five) -> None:
    assert close_months(POLICY, NOW) == 0, "the site has not closed the month"
    close_months(SITE, NOW)
    alice = User.objects.get(username="alice")
    due = RollUpDue.objects.create(
        user=alice, project_id=JobEfficiency.objects.first().project_id, day=OCTOBER.date(), noted_at=NOW
    )
    assert close_months(POLICY, NOW) == 0
    due.delete()
    assert (close_months(POLICY, NOW), close_months(POLICY, NOW)) == (1, 0)


def test_what_arrives_or_leaves_later_changes_nothing(five) -> None:
    close()
    before = lines()
    run(6, "frank", util=10.0)
    alice = User.objects.get(username="alice")
    JobEfficiency.objects.filter(user=alice).delete()
    alice.jobs.all().delete()
    alice.delete()
    close(NOW + timedelta(days=1))
    assert lines() == before
    assert PolicyRow.objects.filter(kind="user", user=None).count() == 1, "the row of alice refers to nobody"


def test_a_project_of_one_person_is_withheld_with_what_would_reveal_it(five) -> None:
    # The site's total without the shown project would be frank's 8 hours.
    run(6, "frank", project_id="project_465000002")
    close()
    assert [(row["key"], row["withheld"], row["gpu_hours"]) for row in lines("project")] == [
        ("project_465000001", "other_group", None),
        ("project_465000002", "few_people", None),
    ]
    assert withheld_counts(rows_of(policy_months())) == [
        {"period": "2026-10", "kind": "project", "reason": "few_people", "rows": 1},
        {"period": "2026-10", "kind": "project", "reason": "other_group", "rows": 1},
    ]


def test_projects_of_ten_people_are_shown_beside_each_other(five) -> None:
    for number, user in enumerate(("frank", "grace", "heidi", "ivan", "judy"), start=6):
        run(number, user, project_id="project_465000002")
    close()
    assert [(row["key"], row["gpu_hours"]) for row in lines("project")] == [
        ("project_465000001", 40.0),
        ("project_465000002", 40.0),
    ]


def test_a_partition_of_the_site_page_reveals_no_person_of_a_project(five) -> None:
    # Ten people in a partition that the Site page shows; nine of them, and five others, are in the shown project.
    # Its difference to the partition is one person, who is in another project with five more elsewhere.
    for number, user in enumerate(("frank", "grace", "heidi", "ivan"), start=6):
        run(number, user)
    run(10, "judy", project_id="project_465000002")
    for number, user in enumerate(("mallory", "niaj", "olivia", "rupert", "sybil"), start=11):
        run(number, user, project_id="project_465000002", partition="dev-g")
    close()
    withheld = {row["key"]: row["withheld"] for row in lines("project")}
    assert withheld == {"project_465000001": "other_group", "project_465000002": "other_group"}


def test_four_people_have_no_row_with_figures(db) -> None:
    for number, user in enumerate(PEOPLE[:4], start=1):
        run(number, user)
    close()
    assert {(row["kind"], row["withheld"], row["gpu_hours"]) for row in lines()} == {
        ("project", "few_people", None),
        ("user", "few_people", None),
    }


def test_users_are_named_only_where_the_site_states_so(five, settings) -> None:
    close()
    assert {row["name"] for row in lines()} == {None}
    settings.POLICY_NAMES = True
    assert {row["name"] for row in lines("user")} == set(PEOPLE)
    keys = {row["name"]: row["key"] for row in lines("user")}
    secret = settings.POLICY_KEY_SECRET.encode()
    assert keys["bob"] == user_key(secret, "2026-10", User.objects.get(username="bob").pk)


def outcome(job_id: int, first_at: datetime | None, runs: int, saved_gpu_hours: float | None, **more: str) -> None:
    """What became of the advice on a run."""
    job = Job.objects.get(job_id=job_id)
    columns = {"kind": "gpus", "basis": "active_gpus", "status": "followed"} | more
    AdviceOutcome.objects.create(
        job=job, user=job.user, project=job.project, work_key=job.work_key, given_at=OCTOBER, credited_runs=runs,
        credited_gpu_hours=saved_gpu_hours or 0.0, first_at=first_at, **columns,
    )  # fmt: skip


def followed() -> dict[str, tuple[int | None, float | None]]:
    """What followed advice in October, by project and by user."""
    found = {
        row["key"]: (row["followed_runs"], row["followed_gpu_hours"]) for row in lines() if row["period"] == "2026-10"
    }
    secret = settings.POLICY_KEY_SECRET.encode()
    keys = {user_key(secret, "2026-10", user.pk): user.username for user in User.objects.all()}
    return {keys.get(key, key): value for key, value in found.items()}


def test_followed_advice_counts_in_the_month_in_which_it_was_first_followed(five_times) -> None:
    november = datetime(2026, 11, 1, tzinfo=NOW.tzinfo)
    # alice: 2 runs and 1 run, of which 21.5 and 3.5 GPU-hours are 25: bands from 2 and from 20.
    outcome(1, OCTOBER, 2, 21.5)
    outcome(1, november - timedelta(seconds=1), 1, 3.5, kind="memory", basis="peak")
    # bob followed when November began, carol never, dave for more GPU-hours than before, erin without a comparison.
    outcome(2, november, 4, 40.0)
    outcome(3, None, 0, None, status="open")
    outcome(4, OCTOBER, 1, -4.0)
    outcome(5, OCTOBER - timedelta(days=14, hours=12), 1, None)
    close()
    shown = followed()
    # Of the project they are three persons' runs and one person's hours, so both are withheld.
    assert shown.pop("project_465000001") == (None, None)
    assert shown == {"alice": (2, 20.0), "bob": (0, 0.0), "carol": (0, 0.0), "dave": (1, 0.0), "erin": (1, 0.0)}


def test_a_project_states_what_five_people_saved(five) -> None:
    for job_id in range(1, 6):
        outcome(job_id, OCTOBER, 2, 4.0)
    close()
    # 5 times 2 runs and 4 GPU-hours; the step is 2.
    assert followed()["project_465000001"] == (10, 20.0)


def test_what_the_sweep_settled_is_what_a_month_counts(five_times) -> None:
    # On 14 October two of alice's 8 GPUs work; on the 20th she asks for 2, for 2 instead of 8 GPU-hours.
    advised_run(21, days_ago=37)
    advised_run(22, days_ago=31, gpus=2)
    roll_up_due(100, NOW)
    settle_due(100, NOW)
    close()
    assert followed()["alice"] == (1, 5.0)


def flag(user: str, visible_at: datetime, cleared_at: datetime | None = None, kind: str = "user") -> None:
    """A stored flag of a person or of their work, or with kind `project` of the project."""
    person, project = User.objects.get(username=user), Project.objects.get(name="project_465000001")
    subject: dict[str, Any] = {"user": person} if kind != "project" else {"project": project}
    subject |= {"project": project, "work_key": "w"} if kind == "work" else {}
    Flag.objects.create(
        kind=kind, **subject, raised_at=visible_at - timedelta(days=7), visible_to_staff_at=visible_at,
        cleared_at=cleared_at, rules_version="1", evidence={}, latest={}, unused_gpu_hours=0, saved_gpu_hours=0,
    )  # fmt: skip


def test_the_flag_is_the_one_that_staff_saw_at_the_end_of_the_month(five) -> None:
    end, second = datetime(2026, 11, 1, tzinfo=NOW.tzinfo), timedelta(seconds=1)
    flag("alice", OCTOBER)
    flag("bob", OCTOBER, cleared_at=end + second)
    flag("carol", OCTOBER, cleared_at=end - second)
    flag("dave", end + second)
    flag("erin", OCTOBER, kind="work")
    flag("alice", OCTOBER, kind="project")
    close()
    secret = settings.POLICY_KEY_SECRET.encode()
    keys = {user_key(secret, "2026-10", user.pk): user.username for user in User.objects.all()}
    assert {keys[row["key"]]: row["flag"] for row in lines("user")} == {
        "alice": True, "bob": True, "carol": False, "dave": False, "erin": False,
    }  # fmt: skip
    # The runs of the 15th are before the window, whose first day is the 18th: it reveals nobody.
    assert [(row["flag"], row["withheld_columns"]) for row in lines("project")] == [(True, [])]


@pytest.mark.parametrize("is_flagged", [True, False])
@pytest.mark.parametrize(("people", "is_shown"), [(4, False), (5, True)])
def test_the_flag_of_a_project_is_withheld_where_few_people_are_in_its_window(
    five, people: int, is_shown: bool, is_flagged: bool
) -> None:
    for number, user in enumerate(PEOPLE[:people], start=11):
        run(number, user, ended=datetime(2026, 10, 18, 12, tzinfo=NOW.tzinfo))
    if is_flagged:
        flag("alice", OCTOBER, kind="project")
    close()
    (project,) = lines("project")
    assert project["flag"] == (is_flagged if is_shown else None)
    assert project["withheld_columns"] == ([] if is_shown else ["flag"])


def test_what_only_an_owner_reported_does_not_count(five) -> None:
    run(6, "frank")
    JobEfficiency.objects.filter(user__username="frank").update(is_told_by_owner=True)
    note_all(NOW)
    roll_up_due(100, NOW)
    close()
    assert len(lines("user")) == 5


def test_rows_go_with_the_runs_of_their_month_and_the_month_never_comes_again(five) -> None:
    close()
    assert list(remove_policy_rows(datetime(2026, 10, 31, 23, tzinfo=NOW.tzinfo))) == []
    assert list(remove_policy_rows(datetime(2026, 11, 1, tzinfo=NOW.tzinfo))) == [6]
    assert (policy_months(), PolicyRow.objects.count()) == ([], 0)
    assert close(NOW + timedelta(days=1)) == 0
    assert ClosedMonth.objects.get(kind="policy").first_day == date(2026, 10, 1)
