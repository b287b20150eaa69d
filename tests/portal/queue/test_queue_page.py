"""The page of the queue: whose jobs it shows, what they hold and cost, why they wait, and how old that is."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.conf import settings as configured
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.queue_waits.services import keep_ranges
from jobs.models import Membership, Project, QueuedJob, QueueReading, User
from jobs.queue.services import note_failure
from tests.analysis.queue_waits.test_stored import store_runs
from tests.portal.conftest import text
from tests.portal.queue.queued import PROJECT, allocate, grow, read, started, waiting
from tests.roles import set_role

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PATH = "/queue/"
FOUR_NODES = {"Partition": "standard-g", "OverSubscribe": "NO", "tres_alloc": "cpu=1,mem=1G,node=4,gres/gpu=32"}


def page(client: Client, path: str = PATH) -> str:
    """The page without its tags, spaces of any kind as one."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text(client, path))))


def shown(client: Client) -> tuple[list[int], list[int]]:
    """The numbers of the running and of the pending jobs that a page lists."""
    context = client.get(PATH).context
    return tuple([line.job.job_id for line in context[name]] for name in ("running", "pending"))


# Whose jobs


def test_an_owner_sees_own_jobs_and_a_pi_those_of_the_project(cast) -> None:
    read(
        started(1),
        started(2, UserName="bob"),
        waiting(3),
        waiting(4, UserName="dave", Account="project_2"),
        waiting(5, UserName="erin", Account="project_2"),
    )
    assert shown(cast("alice")) == ([1], [3])
    assert shown(cast("bob")) == ([2], [])
    assert sorted(shown(cast("carol"))[0]) == [1, 2]
    assert shown(cast("carol"))[1] == [3]
    assert shown(cast("dave")) == ([], [4])
    # Neither support nor administrators see more than their own jobs.
    assert shown(cast("erin")) == ([], [5])
    assert shown(cast("grace")) == ([], [])


def test_a_member_learns_nothing_of_another_members_jobs(cast) -> None:
    """The page of bob says the same whether alice has jobs in the queue or not."""
    allocate(300.0)
    read(started(2, UserName="bob", Name="mine"))
    before = page(cast("bob"))
    QueueReading.objects.all().delete()
    read(started(2, UserName="bob", Name="mine"), started(1, Name="hers"), waiting(3, Name="hers"))
    assert page(cast("bob")) == before
    assert "alice" not in before
    assert "only the PI sees them" in before


def test_the_pi_sees_whose_jobs_they_are_and_who_takes_how_much(cast) -> None:
    """2 GPUs for 4 hours are 4 GPU-hours on small-g; bob's 4 nodes for 4 hours are 4 x 4 x 4 = 64."""
    read(started(1), waiting(3), waiting(2, UserName="bob", **FOUR_NODES))
    (one,) = cast("carol").get(PATH).context["queues"]
    assert [(member.username, member.sums.at_limit) for member in one.members] == [("bob", 64.0), ("alice", 8.0)]
    assert (one.sums.running.gpus, one.sums.pending.gpus) == (2, 34)
    said = page(cast("carol"))
    assert "all jobs of the project" in said
    assert "Member" in said
    assert "Member" not in page(cast("alice"))


def test_a_former_pi_sees_own_jobs_alone(cast) -> None:
    read(started(1), started(2, UserName="carol"))
    assert sorted(shown(cast("carol"))[0]) == [1, 2]
    Membership.objects.filter(user__username="carol").update(role=Membership.Role.MEMBER)
    assert shown(cast("carol"))[0] == [2]


def test_a_job_in_a_project_that_no_directory_lists_is_shown_with_it(cast) -> None:
    read(waiting(1, Account="project_new"))
    assert "project_new" in page(cast("alice"))
    assert not Membership.objects.filter(project__name="project_new").exists()


# Hours


def test_what_runs_and_waits_is_compared_with_what_is_left(cast) -> None:
    """Running: 2 GPUs on small-g, 4 hours: 4. Pending: 40 tasks of 1 node of standard-g, 6 hours: 40 x 24 = 960."""
    allocate(300.0)
    array = {"Partition": "standard-g", "OverSubscribe": "NO", "tres_alloc": "cpu=1,node=1,gres/gpu=8"}
    read(started(1), waiting(3, ArrayTaskID="0-39", TimeLimit="6:00:00", **array))
    said = page(cast("alice"))
    assert (
        "Your running jobs will use up to 4.00 of the 300.0 GPU-hours left, the pending ones up to 960.0 more:"
        " together up to 664.0 more than are left."
    ) in said
    assert "used 700.0" in said
    assert "40 tasks, each: 8 GPUs on 1 node, standard-g" in said
    (one,) = cast("alice").get(PATH).context["queues"]
    assert (one.sums.running.used, one.sums.pending.jobs, one.sums.pending.gpus) == (
        pytest.approx(1.0, abs=0.01),
        40,
        320,
    )
    # Of 1,000: 700 used, then 4, then what room is left.
    assert (one.running_x, one.running_width, one.pending_x, one.pending_width) == (70.0, 0.4, 70.4, 29.6)


def test_a_job_past_its_limit_costs_what_it_ran(cast) -> None:
    """A site may allow it: 2 GPUs for 5 hours instead of 4 are 5 GPU-hours."""
    read(started(1, hours_ago=5.0))
    (line,) = cast("alice").get(PATH).context["running"]
    assert (line.cost.used, line.cost.at_limit) == (pytest.approx(5.0, abs=0.01), pytest.approx(5.0, abs=0.01))


def test_what_has_no_price_or_no_limit_is_left_out_of_the_hours_and_said(cast) -> None:
    read(
        started(1, Partition="lumid"),
        started(2, TimeLimit="UNLIMITED"),
        # Costs no GPU-hours, so nothing is missing.
        started(3, Partition="standard", tres_alloc="cpu=2,mem=1G,node=1"),
        waiting(4),
    )
    (one,) = cast("alice").get(PATH).context["queues"]
    assert (one.sums.without_cost, one.sums.running.at_limit, one.sums.pending.at_limit) == (2, 0.0, 4.0)
    assert "2 jobs without a time limit, or in a partition without a known price in GPU-hours, are not part" in page(
        cast("alice")
    )


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (0.0, "No GPU-hours are left, and your jobs may use up to 8.00."),
        (2.0, "Your running jobs alone may use up to 4.00 GPU-hours, and the pending ones up to 4.00 more; only 2.00"),
        (
            8.0,
            "Your running jobs will use up to 4.00 of the 8.00 GPU-hours left, the pending ones up to 4.00 more: none",
        ),
        (None, "1,000 GPU-hours are allocated. How many are left is not known: LUMI's project file does not state"),
    ],
)
def test_the_verdict_at_its_borders(cast, left: float | None, said: str) -> None:
    allocate(left)
    read(started(1), waiting(3))
    assert said in page(cast("alice"))


def test_without_an_allocation_nothing_is_compared(cast) -> None:
    read(started(1))
    said = page(cast("alice"))
    assert "no directory states an allocation of this project" in said
    assert "GPU-hours left" not in said.replace("GPU-hours that your projects have left", "")


def test_projects_without_jobs_in_the_queue_are_listed_with_what_is_left(cast) -> None:
    set_role(User.objects.get(username="alice"), Project.objects.create(name="project_2"), "member")
    allocate(120.0, 200.0, "project_2")
    read(started(1))
    assert "project_2 : 120.0 of 200 GPU-hours left" in page(cast("alice"))


def test_the_forecast_is_the_pis(cast) -> None:
    allocate(300.0)
    read(started(1))
    assert "No forecast: Kaiku saw no use in the last 30 days." in page(cast("carol"))
    assert "forecast" not in page(cast("alice"))


# Waiting


def test_why_a_job_waits_is_said_in_plain_words_beside_slurms_own(cast) -> None:
    read(
        waiting(1, Reason="AssocGrpGRESMinutes"),
        waiting(2, Reason="Dependency", EligibleTime="N/A"),
        waiting(3, Reason="ReqNodeNotAvail, UnavailableNodes:nid005001"),
        waiting(4, Reason="Prolog"),
    )
    said = page(cast("alice"))
    assert "The hours of the project are used up, or do not suffice for this job. AssocGrpGRESMinutes" in said
    assert "It waits for another job that it depends on. Dependency cannot start yet" in said
    assert "A node that it needs is reserved, for example for maintenance, or down. ReqNodeNotAvail" in said
    assert "Slurm's reason is not explained here. Prolog" in said
    assert "nid005001" not in said


def test_the_usual_wait_is_shown_where_earlier_jobs_show_it_and_only_the_queue_delays_a_job(cast) -> None:
    now = timezone.now()
    store_runs(noon=now - timedelta(hours=1), gpus_requested=2, walltime_requested_s=14_400.0)
    keep_ranges(now)
    read(waiting(1, hours_ago=0.5), waiting(2, Reason="Dependency"), waiting(3, Partition="dev-g"))
    waits = {line.job.job_id: line.wait for line in cast("alice").get(PATH).context["pending"]}
    assert waits[1] is not None
    assert (waits[1].typical_s, waits[2], waits[3]) == (pytest.approx(3600), None, None)
    assert "30 min usually 1 h 00 min to 1 h 00 min, typically 1 h 00 min" in page(cast("alice"))


def test_the_page_escapes_what_a_name_contains(cast) -> None:
    read(waiting(1, Name="<script>alert(1)</script>\u202e|x"))
    assert "<script>alert" not in text(cast("alice"), PATH)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd|x" in text(cast("alice"), PATH)


def test_long_queues_are_listed_in_part_and_added_up_in_whole(cast) -> None:
    read(started(1), waiting(2))
    grow(range(1, 60))
    context = cast("alice").get(PATH).context
    assert (len(context["running"]), context["running_count"], context["queues"][0].sums.jobs) == (50, 60, 120)
    assert "the first 50 of 60, the longest wait first" in page(cast("alice"))
    assert len(text(cast("alice"), PATH)) < 120_000


def test_jobs_of_several_clusters_name_theirs(cast) -> None:
    read(started(1))
    assert "small-g on lumi" not in page(cast("alice"))
    read(started(1, tres_alloc="cpu=4,node=1,gres/gpu=1"), cluster="other")
    assert "small-g on other" in page(cast("alice"))


# Age


def test_the_age_of_the_reading_is_stated(cast) -> None:
    read(started(1), minutes_ago=4)
    assert re.search(r"Read from Slurm on lumi \d{4}-\d\d-\d\d \d\d:\d\d UTC , 4 min ago\.", page(cast("alice")))


def test_an_old_reading_is_shown_as_old_with_the_times_that_it_has(cast) -> None:
    """Read three hours ago, a job that had started an hour before had run for an hour then."""
    read_at = read(minutes_ago=180)
    QueuedJob.objects.all().delete()
    read(started(1, hours_ago=4.0), minutes_ago=179)
    note_failure("lumi", "squeue did not answer within 60 s", timezone.now())
    said = page(cast("alice"))
    assert "This is an old state. The queue of lumi was last read 2 h 59 min ago" in said
    assert "the last try failed. Jobs may have started or ended since then." in said
    assert "squeue did not answer" not in said
    (line,) = cast("alice").get(PATH).context["running"]
    assert line.ran_s == pytest.approx(3720, abs=5)
    assert QueueReading.objects.get().read_at > read_at


def test_a_portal_that_does_not_read_the_queue_says_so(cast, settings) -> None:
    said = page(cast("alice"))
    assert "This portal does not read the queue" in said
    assert "Queue" not in re.sub(r"QUEUE_CLUSTERS|Queue ·", "", said)
    settings.QUEUE_CLUSTERS = ["lumi"]
    assert "The queue has not been read yet" in page(cast("alice"))
    note_failure("lumi", "squeue cannot be started", timezone.now())
    assert "The queue of lumi could not be read yet" in page(cast("alice"))


def test_rows_that_could_not_be_read_are_said(cast) -> None:
    read(started(1), started(2, UserName="1003"))
    assert "1 row of the queue of lumi could not be read, so jobs may be missing here." in page(cast("alice"))


def test_an_empty_queue_is_said(cast) -> None:
    read(started(2, UserName="bob"))
    assert "None of your jobs is in the queue" in page(cast("alice"))


def test_the_menu_has_the_page_where_a_queue_is_read(cast, settings) -> None:
    assert configured.QUEUE_CLUSTERS == []
    assert 'href="/queue/"' not in text(cast("alice"), "/projects/")
    settings.QUEUE_CLUSTERS = ["lumi"]
    assert '<a href="/queue/" aria-current="page">Queue</a>' in text(cast("alice"), PATH)


# Cost


@pytest.mark.parametrize("name", ["alice", "carol"])
def test_many_jobs_and_projects_cost_as_many_queries_as_few(cast, name: str) -> None:
    now = timezone.now()
    store_runs(noon=now - timedelta(hours=1), gpus_requested=2, walltime_requested_s=14_400.0)
    keep_ranges(now)
    client, user = cast(name), User.objects.get(username=name)
    allocate(300.0)
    read(started(1), waiting(2), started(3, UserName="carol"), waiting(4, UserName="carol"))

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(PATH).status_code == 200
        return len(found)

    queries()
    few = queries()
    grow(range(1, 30), name)
    for number in range(5):
        project = Project.objects.create(name=f"project_{number}")
        set_role(user, project, "pi" if name == "carol" else "member")
        allocate(10.0, name=project.name)
        QueuedJob.objects.create(cluster="lumi", job_id=900 + number, user=user, project=project, state="RUNNING")
    assert Project.objects.filter(name=PROJECT).exists()
    assert queries() == few
