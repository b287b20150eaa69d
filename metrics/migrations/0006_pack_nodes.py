"""Pack what was stored a row a GPU: some nodes at a time, so that nobody waits, and again from there after a kill."""

from django.db import migrations

from metrics.packed_node import GPU_NUMBERS, HOST_NUMBERS, Figures, Series, host_peak_gb, pack
from metrics.packing import pack_numbers

TOGETHER = 500


def pack_all(apps, schema_editor) -> None:
    nodes = apps.get_model("metrics", "NodeSummary").objects
    waiting = nodes.filter(figures=b"").prefetch_related("gpus").select_related("cpu").order_by("pk")
    while rows := list(waiting[:TOGETHER]):
        for row in rows:
            pack_row(row)
        nodes.bulk_update(rows, ["host_peak_gb", "figures", "series"])


def pack_row(row) -> None:
    """The two columns of one node, from the rows of its GPUs and its host."""
    gpus = sorted(row.gpus.all(), key=lambda gpu: gpu.gpu_id)
    cpu = getattr(row, "cpu", None)
    figures = Figures(
        numbers=pack_numbers([getattr(gpu, name) for gpu in gpus for name in GPU_NUMBERS]),
        pci_bus=tuple(gpu.pci_bus for gpu in gpus),
        missing=tuple(gpu.missing for gpu in gpus),
        host=None if cpu is None else tuple(getattr(cpu, name) for name in HOST_NUMBERS),
        host_missing={} if cpu is None else cpu.missing,
    )
    series = Series(
        step_s=tuple(gpu.timeline_step_s for gpu in gpus),
        util=tuple(bytes(gpu.timeline_util) for gpu in gpus),
        mem_gb=tuple(bytes(gpu.timeline_mem_gb) for gpu in gpus),
        histogram_s=tuple(bytes(gpu.histogram_s) for gpu in gpus),
    )
    row.host_peak_gb, row.figures, row.series = host_peak_gb(cpu), pack(figures), pack(series)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("metrics", "0005_packed_nodes")]

    operations = [migrations.RunPython(pack_all, migrations.RunPython.noop, elidable=True)]
