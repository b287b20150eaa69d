"""The pages of the Jobs list: each run once in every order and both ways, arrays as one row, and a bounded count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.efficiency import EfficiencyClass
from analysis.facts import EARLY_ENDS
from analysis.models import JobEfficiency
from jobs.models import Job, Membership, Project, User
from portal.pages.jobs import rows as job_pages
from portal.pages.jobs.orders import SORTS
from portal.pages.jobs.rows import ListedRun
from portal.pages.jobs.sorts import Place
from tests.roles import set_role

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
PAGES_MAX = 50
PROJECT = "project_465000001"


def run(
    job_id: int,
    *,
    owner: str = "alice",
    project: str = PROJECT,
    util: float | None = 50.0,
    judged: dict[str, object] | None = None,
    **columns,
) -> Job:
    """One ended run, judged unless `util` is negative; ids of less than two days ended at the same moment.

    Its class is not that of its use: `judged` are columns of the judgement.
    """
    given = {
        "state": "COMPLETED",
        "ended_at": NOW - timedelta(hours=job_id // 5),
        "walltime_used_s": 60.0 * (job_id % 7),
    }
    job = Job.objects.create(
        cluster="lumi",
        job_id=job_id,
        user=User.objects.get(username=owner),
        project=Project.objects.get(name=project),
        changed_at=NOW,
        started_at=NOW - timedelta(days=30),
        **{"gpus_allocated": 8} | given | columns,
    )
    if util is None or util >= 0:
        JobEfficiency.objects.create(
            job=job,
            **{
                "efficiency_class": EfficiencyClass.UNKNOWN if util is None else EfficiencyClass.ACCEPTABLE,
                "gpu_hours": float(job_id % 3),
                "wasted_gpu_hours": None if util is None else (100 - util) / 100,
                "is_partial": False,
                "ended_early": job.state in EARLY_ENDS and job.walltime_used_s < 600,
            }
            | (judged or {}),
            user=job.user,
            project=job.project,
            work_key=job.work_key,
            started_at=job.started_at,
            ended_at=job.ended_at,
            avg_gpu_util=util,
            coverage_fraction=1.0,
            allocated_gpus=8,
            measured_gpus=8,
            rules_version="1",
            revision=1,
            job_revision=1,
            metrics_revision=1,
            analysed_at=NOW,
        )
    return job


def walk(client: Client, address: str, way: str = "next") -> list[list[ListedRun]]:
    """The runs of every page on the way, from this address to the end."""
    pages = []
    for _ in range(PAGES_MAX):
        page = client.get(f"/jobs/?{address}").context["page"]
        pages.append(page.runs)
        address = getattr(page, way)
        if not address:
            return pages
    raise AssertionError("the pages never end")


def ids(pages: list[list[ListedRun]]) -> list[int]:
    return [row.run.job_id for page in pages for row in page]


@pytest.fixture
def many(cast) -> Client:
    """70 runs that differ little: equal ends, values and run times, some unmeasured, some not judged, two running."""
    codes = (" idle_gpus timeout ", " timeout ", "", " code_of_another_version ", " overscaling ")
    for job_id in range(1, 71):
        util = -1.0 if job_id % 13 == 0 else None if job_id % 11 == 0 else float(job_id % 4 * 25)
        running = {"state": "RUNNING", "ended_at": None, "walltime_used_s": None} if job_id in (26, 39) else {}
        name = "UNKNOWN" if util is None else ("WASTED", "ACCEPTABLE", "EFFICIENT")[job_id % 3]
        judged = {"efficiency_class": name, "finding_codes": codes[job_id % 5], "gpu_hours": float(job_id % 3)}
        judged["uncounted_reason"] = "short" if job_id % 8 == 0 else ""
        run(job_id, util=util, judged=judged, gpus_allocated=job_id % 4 or None, **running)
    return cast("alice")


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_shows_each_run_once_forwards_and_backwards(many, sort: str) -> None:
    forwards = walk(many, f"sort={sort}")
    expected = list(Job.objects.order_by(*SORTS[sort].full_order()).values_list("job_id", flat=True))
    assert ids(forwards) == expected
    assert [len(page) for page in forwards] == [25, 25, 20]
    last = many.get(f"/jobs/?sort={sort}")
    for _ in range(2):
        last = many.get(f"/jobs/?{last.context['page'].next}")
    backwards = walk(many, last.context["page"].previous, "previous")
    assert ids(reversed(backwards)) == expected[:50]


def test_a_filter_on_judged_runs_pages_in_the_same_order(many) -> None:
    seen = ids(walk(many, "efficiency_class=ACCEPTABLE"))
    judged = JobEfficiency.objects.filter(efficiency_class="ACCEPTABLE", uncounted_reason="")
    assert seen == list(judged.order_by("-job__ended_at", "-job").values_list("job__job_id", flat=True))
    # 24 ids up to 70 leave 1 by three; not 22 and 55 (unmeasured), 13 and 52 (no report), 16, 40 and 64 (short).
    assert len(seen) == 24 - 2 - 2 - 3


def test_a_pi_sees_own_runs_and_those_of_several_projects_merged_into_one_order(cast) -> None:
    client, carol = cast("carol"), User.objects.get(username="carol")
    set_role(carol, Project.objects.create(name="project_465000002"), Membership.Role.PI)
    Project.objects.create(name="project_465000003")
    for job_id in range(1, 61):
        owner = "carol" if job_id % 4 == 0 else "alice"
        run(job_id, owner=owner, project=f"project_46500000{job_id % 3 + 1}")
    visible = [job_id for job_id in range(1, 61) if job_id % 3 != 2 or job_id % 4 == 0]
    pages = walk(client, "")
    order = Job.objects.filter(job_id__in=visible).order_by("-ended_at", "-pk")
    assert ids(pages) == list(order.values_list("job_id", flat=True))
    only = ids(walk(client, "project=project_465000003"))
    assert sorted(only) == [job_id for job_id in visible if job_id % 3 == 2]


@pytest.mark.parametrize(
    "place",
    [
        "after=x",
        "after=~",
        "after=1~2~3",
        "before=nan~3",
        "after=0001-01-01T00:00:00%2B14:00~3",
        "since=0001-01-01&until=9999-12-31",
        "array=x",
        "after=2026-01-01~3",
        "page=9",
    ],
)
def test_a_place_that_makes_no_sense_is_the_first_page(many, place: str) -> None:
    assert ids([many.get(f"/jobs/?{place}").context["page"].runs]) == ids(walk(many, ""))[:25]


def test_a_place_behind_the_last_run_and_one_before_the_first_are_the_first_page(many) -> None:
    first = ids(walk(many, ""))[:25]
    assert ids([many.get("/jobs/?after=~0").context["page"].runs]) == first
    page = many.get("/jobs/", {"before": Place(NOW + timedelta(days=1), 1).text}).context["page"]
    assert (ids([page.runs]), page.previous) == (first, "")


def test_the_pages_keep_what_was_chosen(many) -> None:
    content = many.get("/jobs/?sort=use&q=&state=COMPLETED&nonsense=1").content.decode()
    assert 'rel="next" href="?state=COMPLETED&amp;sort=use&amp;after=' in content
    assert 'href="/jobs.csv?state=COMPLETED&amp;sort=use"' in content


def test_more_jobs_than_are_counted_are_more_than_so_many(many, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"70 jobs." in many.get("/jobs/").content
    monkeypatch.setattr(job_pages, "COUNTED_MAX", 50)
    assert b"More than 50 jobs." in many.get("/jobs/").content


def test_classes_are_sorted_from_the_lowest_and_runs_that_are_not_judged_come_after_them(cast) -> None:
    for job_id, name in enumerate(("EFFICIENT", "WASTED", "UNKNOWN", "INEFFICIENT", "WASTED", "ACCEPTABLE"), start=1):
        util = None if name == "UNKNOWN" else 50.0
        reason = {"uncounted_reason": "short"} if job_id == 5 else {}
        run(job_id, util=util, judged={"efficiency_class": name, **reason}, walltime_used_s=3600.0)
    run(7, util=-1.0)
    assert ids(walk(cast("alice"), "sort=class")) == [2, 4, 6, 1, 3, 5, 7]


def test_findings_are_sorted_by_what_a_report_names_first_as_it_is_called(cast) -> None:
    # "More GPUs than needed" < "Some GPUs stayed idle" < "The time limit ended the job"; none comes last.
    for job_id, codes in enumerate((" timeout ", "", " idle_gpus timeout ", " overscaling ", " idle_gpus "), start=1):
        run(job_id, judged={"finding_codes": codes})
    assert ids(walk(cast("alice"), "sort=finding")) == [4, 5, 3, 1, 2]


def test_the_most_gpus_come_first(cast) -> None:
    for job_id, gpus in ((1, 8), (2, 1024), (3, None), (4, 1)):
        run(job_id, gpus_allocated=gpus)
    assert ids(walk(cast("alice"), "sort=gpus")) == [2, 1, 4, 3]


@pytest.mark.parametrize("place", ["after=1e300~3", "after=-1e300~3", "before=7.5~3", "after=8~3", "after=WASTED~3"])
@pytest.mark.parametrize("sort", ["gpus", "class", "finding"])
def test_a_place_of_another_order_is_no_error(many, sort: str, place: str) -> None:
    assert many.get(f"/jobs/?sort={sort}&{place}").status_code == 200


@pytest.fixture
def array(cast) -> Client:
    """An array of thirty tasks, ten of them unmeasured and one still running, between two single jobs."""
    run(1000, ended_at=NOW)
    for task in range(30):
        is_last = task == 29
        run(
            task + 1,
            array_job_id=1,
            array_task_id=task,
            job_name="sweep",
            util=-1.0 if is_last else None if task < 10 else 50.0,
            state="RUNNING" if is_last else "COMPLETED",
            ended_at=None if is_last else NOW - timedelta(hours=1, minutes=task % 7),
        )
    run(1001, ended_at=NOW - timedelta(days=2))
    return cast("alice")


def test_an_array_is_one_row_where_its_last_ended_task_stands(array) -> None:
    page = array.get("/jobs/").context["page"]
    # Tasks 0, 7, 14, 21 and 28 ended last; the newest of them is job 29.
    assert ids([page.runs]) == [1000, 29, 1001]
    tasks = page.runs[1].tasks
    assert (tasks.count, tasks.unjudged) == (30, 1)
    assert tasks.classes == (("Acceptable", 19), ("Unknown", 10))
    # GPU-hours are the remainder of the job id by three: 1, 2, 0, … for the ids 1 to 29.
    assert tasks.gpu_hours == pytest.approx(30.0)
    assert tasks.mean_util == pytest.approx(50.0)
    # Each of the 19 measured tasks left 0.5 unused.
    assert tasks.unused_gpu_hours == pytest.approx(9.5)
    content = array.get("/jobs/").content.decode()
    assert "30 tasks" in content
    assert 'href="/jobs/?array=lumi%2F1"' in content


def test_the_tasks_of_an_array_open_as_a_list_of_their_own(array) -> None:
    pages = walk(array, "array=lumi/1")
    assert sorted(ids(pages)) == list(range(1, 31))
    assert all(job.tasks is None for page in pages for job in page)
    assert b"Array: lumi/1" in array.get("/jobs/?array=lumi/1").content


def test_an_array_stands_for_the_tasks_that_are_asked_for(array) -> None:
    (row,) = array.get("/jobs/?efficiency_class=UNKNOWN").context["page"].runs
    # Of the unmeasured tasks 0 to 9 those numbered 0 and 7 ended last; the newer is job 8.
    assert (row.run.job_id, row.tasks.count) == (8, 10)
    (running,) = array.get("/jobs/?q=30").context["page"].runs
    assert (running.run.job_id, running.tasks) == (30, None)


@pytest.mark.parametrize("sort", [name for name in SORTS if name != "ended"])
def test_in_an_order_by_value_each_task_stands_where_its_own_value_belongs(array, sort: str) -> None:
    pages = walk(array, f"sort={sort}")
    assert sorted(ids(pages)) == [*range(1, 31), 1000, 1001]
    assert all(row.tasks is None for page in pages for row in page)
    content = array.get(f"/jobs/?sort={sort}").content.decode()
    assert "each task of an array has a row of its own" in content


def test_what_is_shown_unused_falls_from_row_to_row_with_arrays_among_them(array) -> None:
    run(1002, util=20.0)
    shown = [
        row.run.efficiency.wasted_gpu_hours for page in walk(array, "sort=wasted") for row in page if row.shown_class
    ]
    measured = [value for value in shown if value is not None]
    # Job 1002 left 0.8 unused, 19 tasks and two jobs 0.5 each; none was the sum of the array's 9.5.
    assert measured == [0.8, *[0.5] * 21]


def test_tasks_of_others_with_the_same_number_fold_apart(array, cast) -> None:
    bob = run(2000, owner="bob", array_job_id=1, ended_at=NOW + timedelta(hours=1))
    assert ids(walk(array, "")) == [1000, 29, 1001]
    carol = cast("carol").get("/jobs/").context["page"].runs
    assert ids([carol]) == [bob.job_id, 1000, 29, 1001]
    assert [job.tasks.count if job.tasks else 1 for job in carol] == [1, 1, 30, 1]


def test_arrays_cost_no_query_each(array) -> None:
    counts = []
    for arrays in ((), range(200, 220)):
        for array_id in arrays:
            for task in range(3):
                run(array_id * 10 + task, array_job_id=array_id, array_task_id=task)
        with CaptureQueriesContext(connection) as queries:
            array.get("/jobs/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
