"""All own situations; no two have the same name."""

from __future__ import annotations

from bench.early.situations.cpu_only import CPU_ONLY
from bench.early.situations.gpu_memory import GPU_MEMORY
from bench.early.situations.host_memory import HOST_MEMORY
from bench.early.situations.idle import IDLE
from bench.early.situations.sessions import SESSIONS
from bench.early.situations.situation import Situation
from bench.early.situations.spinning import SPINNING
from bench.early.situations.time_limit import TIME_LIMIT
from bench.early.situations.unused import UNUSED

SITUATIONS: tuple[Situation, ...] = (
    SESSIONS + IDLE + UNUSED + SPINNING + HOST_MEMORY + GPU_MEMORY + TIME_LIMIT + CPU_ONLY
)
