"""The measurements of a run are read and unpacked once for its judgement and report, and once for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.expiry.services import thin_measurements
from analysis.models import JobEfficiency
from analysis.services import analyse_due
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.mail.services.letters import letter
from reports.models import Report
from reports.selectors import report_value
from reports.services.formats import rendered
from reports.services.publishing import follow_up, publish, publish_due
from tests.payloads import gpu, job_record, node_payload

pytestmark = pytest.mark.django_db

TABLES = [model._meta.db_table for model in apps.get_app_config("metrics").get_models()]
PAGE = "/jobs/lumi/123456/"


def readings(step: Callable[[], object]) -> int:
    """How often a step reads the rows of the measurement table it reads most; sums over rows do not count."""
    with CaptureQueriesContext(connection) as captured:
        step()
    asked = [query["sql"] for query in captured if "SUM(" not in query["sql"]]
    # The table whose rows come, which is the first one named: others only say which.
    tables = Counter(sql.partition(' FROM "')[2].partition('"')[0] for sql in asked)
    return max(tables[table] for table in TABLES)


@pytest.fixture
def run(now) -> None:
    record_job(job_record(gpus_allocated=4))
    record_node_summary(node_payload(gpus=[gpu(0, 88.0), gpu(1, 0.5), gpu(2, 12.0), gpu(3, None)]))


def test_a_run_is_read_once_for_its_judgement_and_its_report(run: None, now) -> None:
    assert readings(lambda: follow_up(10, now)) == 1
    assert Report.objects.count() == 1


def test_the_report_made_at_once_is_the_one_made_of_the_stored_judgement(run: None, now) -> None:
    follow_up(10, now)
    at_once = report_value(Report.objects.get())
    JobEfficiency.objects.update(revision=7)
    assert publish_due(10, now) == 1
    assert report_value(Report.objects.get()) == at_once
    assert Report.objects.get().efficiency_revision == 7


def test_a_judgement_that_was_made_anew_meanwhile_is_the_one_reported(run: None, now) -> None:
    def outdated(*args: object, **options: object) -> bool:
        JobEfficiency.objects.update(revision=2, avg_gpu_util=66.5)
        return publish(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reports.services.publishing.publish", outdated)
        follow_up(10, now)
    assert report_value(Report.objects.get()).efficiency.avg_gpu_util == 66.5


def test_a_report_of_a_stored_judgement_reads_once(run: None, now) -> None:
    analyse_due(10, now)
    assert readings(lambda: publish_due(10, now)) == 1


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}figures/gpu_use.svg", f"{PAGE}figures/gpu_heatmap.svg"])
def test_each_page_reads_once(cast, run: None, now, path: str) -> None:
    follow_up(10, now)
    client = cast("alice")
    client.get(path)
    assert readings(lambda: client.get(path)) == 1


def test_a_letter_reads_once_for_all_its_figures(run: None, now) -> None:
    follow_up(10, now)
    job, row = Job.objects.get(), Report.objects.select_related("job__user").get()
    row.earlier_class, row.earlier_util = "", None
    assert readings(lambda: letter(job.user, "key", [row], with_pdf=False)) == 1
    assert readings(lambda: rendered(job, row, "html")) == 1


def test_a_page_says_what_is_kept_by_what_is_there(cast, run: None, now, settings) -> None:
    follow_up(10, now)
    settings.SERIES_DAYS = 10
    Report.objects.update(content=aged(Report.objects.get().content, "2026-11-08T12:00:00Z"))
    client = cast("alice")
    assert b"no longer stored" not in client.get(PAGE).content
    assert client.get(f"{PAGE}figures/gpu_use.svg").status_code == 200
    assert [*thin_measurements(timezone.now() + timedelta(days=1))] == [1]
    assert b"GPU use over time: no longer stored" in client.get(PAGE).content
    assert client.get(f"{PAGE}figures/gpu_use.svg").status_code == 404
    assert client.get(f"/api/v1{PAGE}").json()["not_measured"][0] == "GPU use over time: no longer stored"
    assert readings(lambda: client.get(PAGE)) == 1


def aged(content: dict, ended_at: str) -> dict:
    """The report of a run that ended then."""
    return content | {"job": content["job"] | {"ended_at": ended_at}}


def test_the_tables_of_a_page_show_what_was_measured(cast, run: None, now) -> None:
    follow_up(10, now)
    page = cast("alice").get(PAGE)
    (node,) = page.context["hardware"].nodes
    assert [(row["gpu_id"], row["avg_util"]) for row in node.gpus] == [(1, 0.5), (2, 12.0), (0, 88.0), (3, None)]
    assert (node.name, node.host["busy_cores_avg"], node.host["ranks"]) == ("nid005123", 7.9, 8)
    assert node.host["oom_kills"] is None
    assert "7.9 of 56</td>" in page.content.decode()
