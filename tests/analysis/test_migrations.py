"""The columns that lists and sums read, filled for runs that were judged before there were any."""

from __future__ import annotations

from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command

from analysis.models import JobEfficiency
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import job_record, node_payload

FILL = import_module("analysis.migrations.0004_fill_what_lists_and_sums_read").fill


@pytest.mark.django_db
def test_older_judgements_get_the_same_columns_as_new_ones() -> None:
    for job_id, utils in ((1, [80.0, 80.0, *[0.0] * 6]), (2, [95.0] * 8)):
        record_job(job_record(job_id=job_id, walltime_requested_s=7300))
        record_node_summary(node_payload(utils, job_id=job_id))
    call_command("analyse_job", "--due", stdout=StringIO())
    names = ("user_id", "project_id", "started_at", "ended_at", "saved_gpu_hours", "finding_codes")
    written = list(JobEfficiency.objects.order_by("job__job_id").values_list(*names))
    job = Job.objects.get(job_id=1)
    assert written[0][:4] == (job.user_id, job.project_id, job.started_at, job.ended_at)
    assert written[0][4] == JobEfficiency.objects.get(job=job).savings["gpu_hours"] > 0
    assert " idle_gpus " in written[0][5]
    assert written[1][4:] == (None, "")

    JobEfficiency.objects.update(started_at=None, ended_at=None, saved_gpu_hours=None, finding_codes="")
    FILL(apps, None)
    assert list(JobEfficiency.objects.order_by("job__job_id").values_list(*names)) == written
