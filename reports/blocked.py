"""Why no smaller request is suggested although some GPUs did no work."""

import numpy as np

from analysis.facts import JobFacts
from analysis.findings import FindingCode
from analysis.gpu_need import FEWER_GPUS, GpuNeed, countable, gpu_need
from analysis.host_share import host_need
from wire.numbers import counted, gigabytes

START = "Fewer GPUs are not suggested because"


def why_not_fewer(facts: JobFacts, codes: frozenset[FindingCode]) -> str:
    """One sentence for a run with GPUs that did no work, shown where no request is suggested; else empty."""
    if not codes & FEWER_GPUS:
        return ""
    if FindingCode.HOST_OUT_OF_MEMORY in codes:
        return f"{START} host memory ran out: fix that first."
    if FindingCode.GPU_OUT_OF_MEMORY in codes:
        return f"{START} GPU memory probably ran out: fix that first."
    need = gpu_need(facts, codes)
    return f"{START} {_obstacle(facts, need)}." if need else ""


def _obstacle(facts: JobFacts, need: GpuNeed) -> str:
    now, partition = facts.allocated_gpus, facts.partition
    per_node = partition.node.gpus if partition else max(now // facts.held.nodes, 1)
    unmeasured = now - facts.gpus.count
    smaller = countable(need.gpus, now, per_node)[0] if need.gpus < now else now
    if unmeasured > 0 and smaller >= now:
        was = "was" if unmeasured == 1 else "were"
        return f"{counted(unmeasured, 'GPU')} of the job {was} not measured and may have worked"
    if need.gpus >= now:
        return f"the work needs the memory or the time of all {now:,}"
    if smaller >= now:
        idle = "GPU" if now - need.gpus == 1 else "GPUs"
        return (
            f"the work needs {need.gpus:,} of the {counted(now, 'GPU')}, and work on {now:,} does not divide evenly"
            f" into {need.gpus:,}; give the idle {idle} work instead"
        )
    nodes = facts.held.nodes
    if partition and partition.is_exclusive and not partition.shared_twin and need.gpus > (nodes - 1) * per_node:
        return f"{facts.record.partition} allocates whole nodes, and the work needs {counted(nodes, 'node')}"
    used_gb = host_need(facts).memory_gb(nodes)
    if used_gb and partition and used_gb > smaller / per_node * partition.node.host_memory_gb:
        used = gigabytes(float(np.sum(facts.host_peaks_gb)))
        return f"the {used} of host memory that the work used need {counted(nodes, 'node')}"
    if partition and partition.is_exclusive and partition.shared_twin:
        return f"what the job used would cost no less in {partition.shared_twin}"
    return "no smaller request would include the cores and the host memory that were used"
