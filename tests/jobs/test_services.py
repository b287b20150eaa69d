"""Storing job records: idempotent, filling in, never forgetting, never changing hands."""

from __future__ import annotations

import pytest

from jobs.models import Job, Membership, Project, User
from jobs.selectors import record_of, visible_jobs
from jobs.services import RecordConflict, record_job
from tests.payloads import job_record
from tests.roles import set_role

pytestmark = pytest.mark.django_db


def test_a_record_comes_back_as_it_went_in() -> None:
    assert record_job(job_record())
    assert record_of(Job.objects.get()) == job_record()


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
