"""What a judgement copies of its run: from its record, and after other keys of works."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command

from analysis.models import AdviceDue, JobEfficiency, RollUpDue
from jobs.models import Job
from tests.analysis.rollups.test_rollups import NOW, run


def copies() -> list[tuple[int, str, bool]]:
    rows = JobEfficiency.objects.order_by("job__job_id")
    return list(rows.values_list("job__job_id", "work_key", "ended_early"))


def keys() -> list[str]:
    return list(Job.objects.order_by("job_id").values_list("work_key", flat=True))


def test_a_judgement_has_the_work_of_its_run_also_after_the_keys_are_made_anew(db, settings) -> None:
    run(1, 50.0, NOW, job_name="train")
    run(2, 50.0, NOW, job_name="bash")
    before = keys()
    assert (len(before[0]), before[1]) == (32, "")
    assert copies() == [(1, before[0], False), (2, "", False)]
    settings.WORK_KEY_SECRET = "another secret, as long as one should be"
    RollUpDue.objects.all().delete()
    AdviceDue.objects.all().delete()
    call_command("rekey_works", stdout=StringIO())
    assert keys()[0] not in before
    assert RollUpDue.objects.count() == 1, "the day of both"
    assert [due.work_key for due in AdviceDue.objects.all()] == [keys()[0]]
    assert copies() == [(1, keys()[0], False), (2, "", False)]
