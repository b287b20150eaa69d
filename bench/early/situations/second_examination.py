"""The second examination: situations by an author who had read neither the rules, their limits nor the first one."""

from __future__ import annotations

from bench.early.situations import second_examination_host_memory as host_memory
from bench.early.situations import second_examination_idle as idle
from bench.early.situations import second_examination_limit as limit
from bench.early.situations import second_examination_memory as memory
from bench.early.situations import second_examination_parts as parts
from bench.early.situations import second_examination_spinning as spinning
from bench.early.situations.second_examination_healthy import TRAINING
from bench.early.situations.second_examination_science import SCIENCE, SERVING

PROBLEMS = (
    *idle.IDLE,
    *parts.CPU_ONLY,
    *parts.UNUSED,
    *spinning.SPINNING,
    *memory.GPU_MEMORY,
    *host_memory.HOST_MEMORY,
    *limit.LIMIT,
)
SEEMING = {
    "all_gpus_idle": idle.SEEMING_IDLE,
    "cpu_only": parts.SEEMING_CPU_ONLY,
    "some_gpus_unused": parts.SEEMING_UNUSED,
    "spinning": spinning.SEEMING_SPINNING,
    "gpu_memory_full": memory.SEEMING_GPU_MEMORY,
    "host_memory_filling": host_memory.SEEMING_HOST_MEMORY,
    "limit_too_short": limit.SEEMING_LIMIT,
}
"""What only looks as if a word of that code were due; some of these are due another word."""
HEALTHY = (*TRAINING, *SCIENCE, *SERVING)
SECOND_EXAMINATION = (*PROBLEMS, *(one for several in SEEMING.values() for one in several), *HEALTHY)
