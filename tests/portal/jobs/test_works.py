"""The Jobs page by work: what the runs of each add up to, and the filter by exactly one work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from jobs.models import Job, Project
from portal.charts.finding_list import jobs_address
from portal.pages.jobs.works import WorkRow
from tests.portal.jobs.test_filters import chips_on, ignored, shown
from tests.portal.jobs.test_job_pages import NOW, run

TRAIN, EVALUATE, OF_BOB = "a" * 32, "b" * 32, "c" * 32


def works(client: Client, address: str = "") -> list[WorkRow]:
    return client.get(f"/jobs/?group=work&{address}").context["works"].rows


@pytest.fixture
def several(cast) -> Client:
    """Two works of alice's with one name, one of bob's, and two runs that nothing names."""
    run(1, job_name="train_v1", work_key=TRAIN, util=25.0, judged=hours("INEFFICIENT", 4.0, 3.0, " idle_gpus timeout "))
    run(2, job_name="train_v2", work_key=TRAIN, util=75.0, judged=hours("ACCEPTABLE", 8.0, 2.0, " timeout "))
    run(
        3,
        job_name="train",
        work_key=TRAIN,
        util=2.0,
        judged={**hours("WASTED", 100.0, 98.0), "uncounted_reason": "short"},
    )
    run(4, job_name="train", work_key=TRAIN, util=-1.0, state="RUNNING", ended_at=None)
    run(10, job_name="train_v1", work_key=EVALUATE, util=90.0, judged=hours("EFFICIENT", 10.0, 1.0))
    run(20, owner="bob", job_name="train_v1", work_key=OF_BOB, judged=hours("WASTED", 20.0, 19.0))
    run(30, job_name="bash", util=None, judged={"gpu_hours": 5.0})
    run(31, job_name="run", util=None, judged={"gpu_hours": None})
    return cast("alice")


def hours(name: str, billed: float, unused: float, codes: str = "") -> dict[str, object]:
    return {"efficiency_class": name, "gpu_hours": billed, "wasted_gpu_hours": unused, "finding_codes": codes}


def test_each_work_is_a_line_with_its_sums(several) -> None:
    train, evaluate, unnamed = works(several)
    assert (train.name, train.sums.jobs, train.sums.last_at) == ("train", 4, NOW)
    # Used (4 - 3) + (8 - 2), unused 3 + 2; the short run is in no sum, only among the jobs.
    assert (train.sums.used_gpu_hours, train.sums.unused_gpu_hours) == (7.0, 5.0)
    # The first cause of job 1 is idle GPUs, of job 2 the time limit: each counts once, and of equals the last by name.
    assert (train.finding, train.finding_jobs) == ("The time limit ended the job", 1)
    assert train.classes == (("Acceptable", 1), ("Inefficient", 1), ("Not judged", 1))
    assert train.not_analysed == 1
    assert train.url == f"/work/{TRAIN}/"
    # Job 10 ended two hours before jobs 1 to 4, and is the last of its work.
    assert (evaluate.name, evaluate.sums.last_at) == ("train_v1", NOW - timedelta(hours=2))
    assert (unnamed.name, unnamed.sums.jobs, unnamed.url, unnamed.jobs_url) == (
        "Jobs without a name of their own",
        2,
        "",
        "",
    )
    assert unnamed.sums.unused_gpu_hours is None
    content = several.get("/jobs/?group=work").content.decode()
    assert "3 works of 7 jobs" in content
    assert f'href="/jobs/?work={TRAIN}">4 jobs</a>' in content
    assert '<td class="number unused none">not measured</td>' in content


@pytest.mark.parametrize(
    ("sort", "order"),
    [("wasted", [TRAIN, EVALUATE, ""]), ("hours", [EVALUATE, TRAIN, ""]), ("jobs", [TRAIN, "", EVALUATE])],
)
def test_works_are_sorted_by_what_is_shown_of_them(several, sort: str, order: list[str]) -> None:
    assert [row.sums.key for row in works(several, f"sort={sort}")] == order


def test_an_order_that_works_do_not_have_is_left_out_and_the_latest_come_first(several) -> None:
    assert [row.sums.key for row in works(several, "sort=gpus")] == [TRAIN, EVALUATE, ""]
    assert ignored(several, "group=work&sort=gpus") == ""
    assert shown(several, "sort=jobs")[0] == 3, "running ones come last"


def test_the_link_of_a_work_keeps_the_filters_and_lists_as_many_jobs_as_it_says(several) -> None:
    (train, _) = works(several, "q=train&since=2026-01-01")
    assert train.jobs_url == f"/jobs/?q=train&since=2026-01-01&work={TRAIN}"
    assert sorted(shown(several, train.jobs_url.partition("?")[2])) == [1, 2, 3]
    assert train.sums.jobs == 3


def test_the_filter_by_work_takes_its_key_and_its_chip_says_its_name(several) -> None:
    address = jobs_address({"sort": "hours", "work": TRAIN}).partition("?")[2]
    assert sorted(shown(several, address)) == [1, 2, 3, 4]
    assert chips_on(several, address) == {"Work: train": "/jobs/?sort=hours"}
    assert ignored(several, address) == ""
    assert len(b"".join(several.get(f"/jobs.csv?{address}").streaming_content).splitlines()) == 1 + 4


@pytest.mark.parametrize("key", [OF_BOB, "d" * 32, "train", "x" * 400, "\u202e"])
def test_a_work_that_is_not_within_reach_reads_like_one_that_does_not_exist(several, key: str) -> None:
    assert ignored(several, f"work={key}").startswith("Ignored: work “")
    assert len(shown(several, f"work={key}")) == 7


def test_a_pi_sees_the_works_of_the_project_with_their_owners_and_nobody_elses(several, cast) -> None:
    Project.objects.create(name="project_465000002")
    run(40, owner="dave", project="project_465000002", work_key="e" * 32)
    carol = cast("carol")
    rows = {row.sums.key: row for row in works(carol)}
    assert {key: row.owner for key, row in rows.items()} == {TRAIN: "alice", EVALUATE: "alice", OF_BOB: "bob", "": ""}
    assert shown(carol, f"work={OF_BOB}") == [20]
    assert [row.sums.key for row in works(cast("bob"))] == [OF_BOB]


def test_more_works_than_a_page_holds_are_paged(cast) -> None:
    for job_id in range(1, 61):
        run(job_id, work_key=f"{job_id:032x}")
    alice = cast("alice")
    seen, address = [], "group=work&sort=jobs"
    while address:
        page = alice.get(f"/jobs/?{address}").context["works"]
        seen += [row.sums.key for row in page.rows]
        address = page.next
    assert len(seen) == len(set(seen)) == 60
    assert Job.objects.count() == 60
    assert alice.get("/jobs/?group=work&page=9999").context["works"].previous == "group=work&page=2"


def test_a_hostile_name_of_a_work_is_text(cast) -> None:
    run(1, job_name="<script>alert(1)</script>\u202e", work_key=TRAIN)
    alice = cast("alice")
    for address in ("group=work", f"work={TRAIN}"):
        content = alice.get(f"/jobs/?{address}").content.decode()
        assert "<script>alert" not in content
        assert "\u202e" not in content


def test_a_work_names_the_first_cause_of_most_of_its_jobs_as_their_own_lines_do(cast) -> None:
    """Both causes hold in all three; two name idle GPUs first, one that only some were used."""
    codes = (*[" idle_gpus parallelism_mismatch "] * 2, " parallelism_mismatch idle_gpus ")
    for number, found in enumerate(codes, start=1):
        run(number, job_name="train", work_key=TRAIN, judged=hours("INEFFICIENT", 4.0, 3.0, found))
    (row,) = works(cast("alice"))
    assert (row.finding, row.finding_jobs) == ("Some GPUs stayed idle", 2)
