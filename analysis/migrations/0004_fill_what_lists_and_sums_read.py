from collections import defaultdict
from itertools import islice

from django.db import migrations
from django.db.models import FloatField, OuterRef, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

CHUNK_ROWS = 5000
COPIED = ("user_id", "project_id", "started_at", "ended_at")


def fill(apps, schema_editor):
    """Repeat what the job, the savings and the findings say; a chunk at a time, so that memory stays bounded."""
    efficiencies = apps.get_model("analysis", "JobEfficiency").objects
    findings = apps.get_model("analysis", "FindingRow").objects.order_by("efficiency_id", "position")
    job = apps.get_model("jobs", "Job").objects.filter(pk=OuterRef("job_id"))
    efficiencies.update(
        saved_gpu_hours=Cast(KeyTextTransform("gpu_hours", "savings"), FloatField()),
        **{name: Subquery(job.values(name)[:1]) for name in COPIED},
    )
    judged = efficiencies.order_by("pk").values_list("pk", flat=True).iterator(CHUNK_ROWS)
    while chunk := list(islice(judged, CHUNK_ROWS)):
        found = defaultdict(list)
        for pk, code in findings.filter(efficiency__in=chunk).values_list("efficiency_id", "code"):
            found[pk].append(code)
        same = defaultdict(list)
        for pk, codes in found.items():
            same[f" {' '.join(codes)} "].append(pk)
        for codes, pks in same.items():
            efficiencies.filter(pk__in=pks).update(finding_codes=codes)


class Migration(migrations.Migration):
    dependencies = [("analysis", "0003_what_lists_and_sums_read")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
