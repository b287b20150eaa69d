"""Storing job records: idempotent, filling in, never forgetting, never changing hands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from jobs.models import Job, Membership, Project, User
from jobs.runs.services import LATER_RUNS_MAX, RecordConflict
from jobs.selectors import record_of, visible_jobs
from jobs.services import record_job
from tests.payloads import job_record
from tests.roles import set_role

pytestmark = pytest.mark.django_db


DAY = datetime(2026, 11, 1, tzinfo=UTC)


def record_run(number: int, **changes: Any) -> None:
    """Run `number` of alice's training, which ended `number` hours into the month after an hour."""
    ended_at = DAY + timedelta(hours=number)
    times = {"started_at": ended_at - timedelta(hours=1), "ended_at": ended_at, "walltime_used_s": 3600.0}
    record_job(job_record(**{"job_id": number, "job_name": f"train_v{number}"} | times | changes))


def revisions() -> dict[int, int]:
    """The revision of each run by its job id."""
    return dict(Job.objects.order_by("job_id").values_list("job_id", "revision"))


def test_a_record_comes_back_as_it_went_in() -> None:
    assert record_job(job_record())
    assert record_of(Job.objects.get()) == job_record()


def test_when_a_run_could_start_comes_by_whichever_door_knows_it() -> None:
    told, silent = {"eligible_at": "2026-11-20T09:55:00Z"}, {"eligible_at": None}
    for first, second in ((told, silent), (silent, told)):
        Job.objects.all().delete()
        record_job(job_record(**first))
        record_job(job_record(**second))
        assert record_of(Job.objects.get()).queue_wait_s == 300.0


def test_the_same_record_again_changes_nothing() -> None:
    record_job(job_record())
    before = Job.objects.values().get()
    assert not record_job(job_record())
    assert Job.objects.values().get() == before


def test_a_later_record_fills_what_was_unknown_and_keeps_what_it_does_not_know() -> None:
    record_job(job_record(state="RUNNING", ended_at=None, walltime_used_s=None))
    assert record_job(job_record(qos="normal", request={}, ntasks=None))
    job = Job.objects.get()
    assert (job.state, job.qos, job.ntasks) == ("COMPLETED", "normal", 8)
    assert job.request["--gpus-per-node"] == "8"
    assert job.revision == 2


def test_attempts_of_one_job_are_runs_of_their_own() -> None:
    record_job(job_record(state="NODE_FAIL"))
    record_job(job_record(attempt=1))
    assert list(Job.objects.order_by("attempt").values_list("state", flat=True)) == ["NODE_FAIL", "COMPLETED"]


@pytest.mark.parametrize(("name", "value"), [("user_id", "mallory"), ("project_id", "project_465000009")])
def test_a_stored_run_never_changes_hands(name: str, value: str) -> None:
    record_job(job_record())
    with pytest.raises(RecordConflict) as conflict:
        record_job(job_record(**{name: value}))
    assert conflict.value.problems == [(name, "differs from the stored run of this job")]
    assert not User.objects.filter(username="mallory").exists()
    assert not Project.objects.filter(name="project_465000009").exists()


def test_a_new_account_cannot_sign_in_by_password() -> None:
    record_job(job_record())
    assert not User.objects.get(username="alice").has_usable_password()


def test_only_the_owner_and_the_pi_see_a_job() -> None:
    record_job(job_record())
    record_job(job_record(job_id=2, user_id="bob"))
    project = Project.objects.get()
    people = {name: User.objects.get_or_create(username=name)[0] for name in ("alice", "bob", "carol", "dave", "erin")}
    set_role(people["carol"], project, Membership.Role.PI)
    set_role(people["dave"], project, Membership.Role.MANAGER)
    people["erin"].is_staff = people["erin"].is_superuser = True
    seen = {name: set(visible_jobs(user).values_list("job_id", flat=True)) for name, user in people.items()}
    assert seen == {"alice": {123456}, "bob": {2}, "carol": {123456, 2}, "dave": set(), "erin": set()}


def test_runs_of_one_name_share_a_key_and_nobody_elses_do() -> None:
    for number, changes in enumerate(
        [
            {"job_name": "train_v1"},
            {"job_name": "Train-2026-11-20.sh", "gpus_allocated": 2},
            {"job_name": "evaluate"},
            {"user_id": "bob"},
            {"project_id": "project_465000002"},
            {"cluster": "other"},
            {"script_key": "hmac:a"},
        ],
        start=1,
    ):
        record_job(job_record(job_id=number, **changes))
    keys = dict(Job.objects.values_list("job_id", "work_key"))
    assert keys[1] == keys[2]
    assert len(set(keys.values())) == 6
    assert all(len(key) == 32 for key in keys.values())


@pytest.mark.parametrize("name", ["", "bash", "interactive", "12"])
def test_a_run_whose_name_says_nothing_belongs_to_no_work(name: str) -> None:
    record_job(job_record(job_name=name))
    assert Job.objects.get().work_key == ""


def test_the_key_is_found_anew_when_the_name_or_a_key_of_the_script_comes_later() -> None:
    record_job(job_record(job_name=""))
    assert Job.objects.get().work_key == ""
    record_job(job_record(job_name="train"))
    named = Job.objects.get().work_key
    record_job(job_record(job_name="", request={}))
    assert Job.objects.get().work_key == named != ""
    record_job(job_record(script_key="hmac:a"))
    assert Job.objects.get().work_key not in ("", named)


def test_the_key_depends_on_the_secret_of_the_site(settings) -> None:
    settings.WORK_KEY_SECRET = "one"
    record_run(1)
    settings.WORK_KEY_SECRET = "another"
    record_run(2)
    assert len(set(Job.objects.values_list("work_key", flat=True))) == 2


def test_an_earlier_run_that_comes_late_touches_the_later_runs_of_its_work_and_no_others() -> None:
    record_run(5)
    record_run(9)
    record_run(3)
    record_run(6, job_name="evaluate")
    record_run(7, user_id="bob")
    record_run(8, job_name="bash")
    record_run(4)
    assert revisions() == {3: 1, 4: 1, 5: 3, 6: 1, 7: 1, 8: 1, 9: 3}


def test_touched_runs_count_as_changed_now_and_runs_in_order_touch_nobody() -> None:
    early, late = DAY + timedelta(days=2), DAY + timedelta(days=3)
    for number in (2, 3, 4):
        record_run(number)
    assert revisions() == {2: 1, 3: 1, 4: 1}
    Job.objects.update(changed_at=early)
    record_job(job_record(job_id=1, started_at=DAY, ended_at=DAY + timedelta(hours=1)), now=late)
    assert set(Job.objects.values_list("changed_at", flat=True)) == {late}
    assert revisions() == {1: 1, 2: 2, 3: 2, 4: 2}


def test_only_what_later_runs_read_touches_them() -> None:
    record_run(2)
    told = [
        ({"state": "FAILED"}, 1),
        ({"state": "FAILED", "qos": "normal"}, 1),
        ({"state": "COMPLETED"}, 2),
        ({"qos": "debug", "ntasks": 4}, 2),
        ({"walltime_used_s": 3500.0}, 3),
        ({"gpus_allocated": 4}, 4),
        # It belongs to another work from now on; the later run loses it.
        ({"job_name": "evaluate"}, 5),
        ({"job_name": "evaluate", "gpus_allocated": 2}, 5),
    ]
    known: dict[str, Any] = {}
    for changes, revision in told:
        known |= changes
        record_run(1, **known)
        assert revisions()[2] == revision, changes


def test_one_run_touches_so_many_later_ones_and_the_nearest() -> None:
    later = range(2, LATER_RUNS_MAX + 12)
    for number in later:
        record_run(number)
    record_run(1)
    touched = [number for number, revision in revisions().items() if revision == 2]
    assert touched == list(range(2, LATER_RUNS_MAX + 2))
    assert sum(revision == 1 for revision in revisions().values()) == 11


def test_the_same_record_again_touches_nobody() -> None:
    record_run(2)
    record_run(1)
    before = list(Job.objects.order_by("pk").values())
    record_run(1)
    record_run(2)
    assert list(Job.objects.order_by("pk").values()) == before


def test_other_keys_are_made_good_by_the_command() -> None:
    for number, name in enumerate(["train_v1", "bash", "train_v2", "evaluate", ""], start=1):
        record_run(number, job_name=name)
    before = list(Job.objects.order_by("pk").values())
    Job.objects.filter(job_id__lte=3).update(work_key="f" * 32)
    said = StringIO()
    call_command("rekey_works", "--batch", "2", stdout=said)
    call_command("rekey_works", "--batch", "2", stdout=said)
    assert said.getvalue().splitlines() == [
        "5 runs: 3 got another key; 3 belong to a work, 2 to none",
        "5 runs: 0 got another key; 3 belong to a work, 2 to none",
    ]
    assert list(Job.objects.order_by("pk").values()) == before


def test_an_empty_request_of_accounting_takes_nothing_away_in_either_order() -> None:
    """Slurm shows a short run COMPLETED some seconds before what it asked for: sacct's ReqTRES is empty till then."""
    early, late = {"gpus_requested": None, "nodes_requested": None}, {"gpus_requested": 2, "nodes_requested": 1}
    for first, second in ((early, late), (late, early)):
        Job.objects.all().delete()
        record_job(job_record(gpus_allocated=2, request={}, **first))
        record_job(job_record(gpus_allocated=2, request={}, **second))
        job = Job.objects.get()
        assert (job.gpus_requested, job.nodes_requested, job.gpus_allocated) == (2, 1, 2)


def test_that_a_run_did_not_have_whole_nodes_is_said_and_not_unknown() -> None:
    record_job(job_record(is_exclusive=False))
    record_job(job_record(is_exclusive=None))
    assert Job.objects.get().is_exclusive is False
    record_job(job_record(is_exclusive=True))
    assert record_of(Job.objects.get()).is_exclusive is True
