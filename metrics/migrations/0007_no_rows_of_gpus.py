"""The rows of GPUs and hosts are in their node's row now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("metrics", "0006_pack_nodes")]

    operations = [migrations.DeleteModel("GpuSummary"), migrations.DeleteModel("CpuSummary")]
