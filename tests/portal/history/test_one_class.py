"""The classes of the history are those of every list of jobs."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analysis.rollups.services import note_all
from jobs.models import Job
from tests.portal.jobs.test_job_pages import run

pytestmark = pytest.mark.django_db


def test_a_run_that_ended_too_early_is_in_the_same_class_in_the_history_and_in_every_list(cast) -> None:
    """Six runs of class acceptable: two failed or were cancelled within ten minutes, one was too short to count."""
    now = timezone.now()
    acceptable = [("COMPLETED", 400.0), ("FAILED", 600.0), ("TIMEOUT", 400.0), ("FAILED", 400.0), ("CANCELLED", 599.0)]
    for job_id, (state, run_time_s) in enumerate(acceptable, start=1):
        run(job_id, ended_at=now, state=state, walltime_used_s=run_time_s)
    run(6, ended_at=now, walltime_used_s=100.0, judged={"uncounted_reason": "short"})
    note_all(timezone.now())
    Job.objects.update(work_key="a" * 32)
    alice = cast("alice")
    shares = {share.name: share.jobs for share in alice.get("/history/?days=7").context["sum"].shares}
    assert shares == {"ACCEPTABLE": 3, "UNKNOWN": 2}
    assert alice.get("/jobs/?efficiency_class=ACCEPTABLE").context["page"].count == 3
    assert alice.get("/jobs/?efficiency_class=NOT_JUDGED").context["page"].count == 2 + 1
    # The latest five: three of them are not judged.
    assert alice.get("/").content.decode().count('<td class="class">Not judged') == 3
    assert alice.get(f"/work/{'a' * 32}/").content.decode().count('<span class="badge unknown">Not judged') == 3
