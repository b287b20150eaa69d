"""What one's own runs say together, and hints for the next submission: whose runs, which lines, how many queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Job, User
from jobs.services import record_job
from tests.analysis.outcomes.histories import SMALL, as_it_was_judged
from tests.payloads import job_record
from tests.reports.builders import WHOLE_REQUEST

pytestmark = pytest.mark.django_db

QUERIES_MAX = 15
LINES_MAX, LINE_MAX = 3, 120


def times(days_ago: float) -> dict[str, object]:
    ended = timezone.now() - timedelta(days=days_ago)
    return {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}


@pytest.fixture
def alice(cast, reported) -> Client:
    """Three runs of `train` that used two of eight GPUs; `solve` reached its time limit in three of four runs."""
    for job_id in (1, 2, 3):
        reported(job_id, job_name=f"train_v{job_id}", request=WHOLE_REQUEST, **times(job_id))
    for job_id, state in ((11, "TIMEOUT"), (12, "TIMEOUT"), (13, "COMPLETED"), (14, "TIMEOUT")):
        record_job(job_record(job_id=job_id, job_name="solve", state=state, **times(job_id - 9)))
    return cast("alice")


def work(job_id: int) -> str:
    return Job.objects.get(job_id=job_id).work_key


def test_what_would_save_and_what_repeats(alice, cast) -> None:
    found = alice.get("/api/v1/insights/?days=30").json()
    (saving,) = found["would_save"]
    # Three runs of two hours: 8 GPU-hours each as requested, 2 with two GPUs.
    assert (saving["gpu_hours"], saving["runs"]) == (pytest.approx(18.0), 3)
    assert saving["diff"][0] == "--gpus-per-node=8 -> --gpus-per-node=2"
    assert saving["work"] == {"key": work(1), "name": "train_v1", "url": f"/work/{work(1)}/"}
    repeated = {row["code"]: (row["runs"], row["of"]) for row in found["repeats"]}
    assert repeated["idle_gpus"] == (3, 3)
    assert all(row["lesson_url"] == f"/learn/{row['code']}/" for row in found["repeats"])
    assert (
        found["sentences"][0].replace("\u00a0", " ")
        == "3 runs in the last 30 days, without short runs and those that the system ended."
    )
    carol = cast("carol").get("/api/v1/insights/").json()
    assert (carol["would_save"], carol["repeats"], carol["brought"]) == ([], [], None)


def test_what_advice_brought_is_one_figure_with_its_own_period(cast, reported) -> None:
    """Two hours on 8 GPUs a month ago, advised 2; then on 2: 8 - 2 GPU-hours less. `--days` leaves it as it is."""
    reported(1, job_name="train_v1", **times(30))
    reported(2, job_name="train_v2", **SMALL, **times(20))
    as_it_was_judged()
    alice = cast("alice")
    told = {days: alice.get(f"/api/v1/insights/?days={days}").json() for days in (7, 90)}
    assert told[7]["brought"] == told[90]["brought"]
    brought = told[7]["brought"]
    assert (brought["runs"], brought["compared_runs"], brought["saved_gpu_hours"]) == (1, 1, pytest.approx(6.0))
    ended = timezone.localdate(Job.objects.get(job_id=2).ended_at)
    assert brought["since"] == f"{ended:%Y-%m-%d}"
    given = brought["given"]
    assert brought["text"].replace("\u00a0", " ") == (
        f"Over everything stored: {brought['followed']} of {given} suggestion{'s' * (given > 1)} followed in full."
        f" Since {ended:%Y-%m-%d} 1 run followed advice, in full or in part: 6.00 GPU-hours less than before."
    )
    work_of = alice.get(f"/api/v1/works/{work(1)}/").json()["saved"]
    assert (work_of["runs"], work_of["gpu_hours"]) == (1, pytest.approx(6.0))
    saved = alice.get("/").context["month"].saved
    assert (saved.runs, saved.saved_gpu_hours, timezone.localdate(saved.since)) == (1, pytest.approx(6.0), ended)


def test_one_work_alone(alice, cast) -> None:
    for named in ("train", work(1)):
        found = alice.get(f"/api/v1/insights/?work={named}").json()
        assert [row["runs"] for row in found["would_save"]] == [3], named
    assert alice.get("/api/v1/insights/?work=solve").json()["would_save"] == []
    foreign = cast("dave").get(f"/api/v1/insights/?work={work(1)}").json()
    assert (foreign["would_save"], foreign["repeats"]) == ([], [])
    for query in ("days=8", "days=x", "work=%1b"):
        assert alice.get(f"/api/v1/insights/?{query}").status_code == 400, query


def test_hints_are_few_plain_lines_the_most_worth_first(alice, cast) -> None:
    answer = alice.get("/api/v1/hints/").json()
    assert answer["is_on"] is True
    train, solve = answer["hints"]
    assert train["work_names"] == ["train", "train_v1", "train_v2", "train_v3"]
    assert train["worth_gpu_hours"] == pytest.approx(18.0)
    assert train["lines"] == [
        "Kaiku, last 90 days: 3 runs of this work would have used 18.0 GPU-hours less with:",
        "--gpus-per-node=8 -> --gpus-per-node=2, --ntasks-per-node=8 -> --ntasks-per-node=2, --mem=480G -> --mem=120G",
    ]
    # Whoever requests two GPUs already needs neither of these lines.
    assert (train["gpus"], train["gpus_lines"]) == (2, 2)
    assert (solve["key"], solve["worth_gpu_hours"]) == (work(11), None)
    assert (solve["gpus"], solve["gpus_lines"]) == (None, 0)
    assert solve["lines"] == ["Kaiku: 3 of the last 4 runs of this work were ended by their time limit."]
    for hint in answer["hints"]:
        assert len(hint["lines"]) <= LINES_MAX
        assert all(line.isascii() and line.isprintable() and len(line) <= LINE_MAX for line in hint["lines"])
    assert cast("carol").get("/api/v1/hints/").json()["hints"] == []


def test_a_name_that_two_works_share_has_no_hint(alice) -> None:
    record_job(job_record(job_id=15, job_name="solve-2", script_key="hmac:another", state="COMPLETED", **times(1)))
    assert work(15) != work(11)
    assert [hint["work_names"][0] for hint in alice.get("/api/v1/hints/").json()["hints"]] == ["train"]


def test_who_wants_no_hints_gets_none(alice) -> None:
    chosen = {"theme": "", "time_zone": ""}
    assert alice.post("/settings/appearance/", chosen).status_code == 302
    assert not User.objects.get(username="alice").shows_hints
    answer = alice.get("/api/v1/hints/").json()
    assert (answer["is_on"], answer["hints"]) == (False, [])
    alice.post("/settings/appearance/", chosen | {"shows_hints": "on"})
    assert alice.get("/api/v1/hints/").json()["is_on"] is True


@pytest.mark.one_database
def test_calls_cost_a_fixed_number_of_queries(alice, reported) -> None:
    def queries() -> list[int]:
        counts = []
        for path in ("insights/", f"insights/?work={work(1)}", "hints/"):
            with CaptureQueriesContext(connection) as captured:
                assert alice.get(f"/api/v1/{path}").status_code == 200
            counts.append(len(captured))
        return counts

    before = queries()
    reported(*range(20, 40), job_name="train", request=WHOLE_REQUEST, **times(0.5))
    assert queries() == before
    assert max(before) <= QUERIES_MAX, before
