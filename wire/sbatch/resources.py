"""The options of sbatch that request resources: the only ones that are stored, sent, compared and advised on."""

from __future__ import annotations

GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")
TASK_OPTIONS = ("ntasks", "ntasks-per-node", "ntasks-per-gpu")
CPU_OPTIONS = ("cpus-per-task", "cpus-per-gpu")
MEMORY_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")
RESOURCES = (
    "partition nodes gpus gpus-per-node gres gpus-per-task gpus-per-socket ntasks ntasks-per-node ntasks-per-gpu"
    " cpus-per-task cpus-per-gpu mem mem-per-gpu mem-per-cpu time exclusive"
).split()
"""In the order in which a request reads best."""
