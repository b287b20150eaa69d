"""GPU memory at its end: growth that kills, and pools that frameworks reserve by design.

JAX and XLA take 75 % at the start (XLA_PYTHON_CLIENT_MEM_FRACTION), TensorFlow nearly all, vLLM 90 % and what the user
sets (gpu_memory_utilization); PyTorch's allocator keeps what it once had. None of that is an error.
"""

from __future__ import annotations

import numpy as np

from bench.early.situations.build import Memory, gpus, host, line, situation, work

_M = "gpu_memory_full"
_HOST = host(12, 8, 60)
_SMALL = host(12, 3, 20, 60, 7)


def _flat(gb: float) -> Memory:
    return lambda hours: np.where(hours < 0.03, 0.6, gb)


GPU_MEMORY = (
    situation("graph_kept_each_step", "The loss keeps its graph: 34 to 64 GB in five hours, then the exception.",
        f"600 - | 4200 - | 11400 - | 16200 {_M}",
        gpus("g1", 1, work(5), creep=line((0, 34), (4.4, 62.8), (5, 63.9))), _SMALL, partition="small-g",
        state="FAILED"),
    situation("fragmentation_on_eight", "Creeps 4 GB an hour to the last byte on all eight GPUs.",
        f"600 - | 4200 - | 17400 {_M}",
        gpus("g2", 8, work(5.2), creep=line((0, 44), (4.8, 62.9), (5.2, 63.9))), _HOST, state="FAILED"),
    situation("history_of_states", "A simulation keeps its states on the GPU until there is no room.",
        f"4200 - | 12600 {_M}",
        gpus("g3", 4, work(3.8, 96), creep=line((0, 20), (3.8, 63.9))), host(4, 4, 30, 240, 28), partition="small-g",
        state="FAILED", job="md_onthefly"),
    situation("longer_documents_each_hour", "Sequences sorted by length: the longest come last and do not fit.",
        f"4200 - | 7800 ?{_M} | 13800 {_M}",
        gpus("g4", 8, work(4.1), creep=line((0, 52), (2.1, 58), (3.8, 63), (4.1, 63.9))), _HOST, state="FAILED"),
    situation("one_of_two_nodes_creeps", "The GPUs of the first node gather validation outputs; they die of it.",
        f"4200 - | 14400 {_M}",
        [gpus("g5a", 8, work(4.3), creep=line((0, 36), (4.3, 63.95))), gpus("g5b", 8, work(4.3), creep=_flat(36))],
        _HOST, state="FAILED"),
    situation("key_value_store_of_a_chat", "Conversations are never dropped: each hour 5 GB more on both GPUs.",
        f"4200 - | 24600 {_M}",
        gpus("g17", 2, work(7.1, 75), creep=line((0, 28), (7.1, 63.95))), host(8, 4, 30, 120, 14),
        partition="small-g", state="FAILED", job="chat-server"),
    situation("cache_of_kernels_to_the_end", "Grows to 63 GB in the last hour and completes: near the edge.",
        f"4200 - | 11400 - | 20400 ?{_M}",
        gpus("g6", 1, work(6), creep=line((0, 40), (5.5, 61.5), (6, 63))), _SMALL, partition="small-g"),
    situation("jax_preallocates", "JAX took 75 percent in the first second, XLA works well in it.",
        "600 - | 4200 - | 11400 -", gpus("g7", 8, work(10), creep=_flat(48)), _HOST, job="jax_gpt"),
    situation("jax_with_a_fraction_of_97", "XLA_PYTHON_CLIENT_MEM_FRACTION=.97: full at once and healthy.",
        "600 - | 4200 - | 11400 -", gpus("g8", 8, work(10), creep=_flat(62.3)), _HOST, job="jax_gpt"),
    situation("vllm_reserves_95_percent", "The cache of keys and values is reserved when the server starts.",
        "600 - | 4200 - | 11400 -", gpus("g9", 4, work(10, 70), creep=_flat(61.5)), host(10, 4, 60, 240, 28),
        job="vllm-serve", partition="small-g"),
    situation("tensorflow_maps_everything", "63.8 of 64 GB mapped from the start, 90 percent busy.",
        "600 - | 4200 - | 7800 -", gpus("g10", 1, work(9, 90), creep=_flat(63.8)), _SMALL, partition="small-g"),
    situation("well_filled_batch", "The batch was chosen to fill 62.5 GB and stays there.",
        "600 - | 4200 - | 11400 -", gpus("g11", 8, work(12), creep=_flat(62.5)), _HOST),
    situation("allocator_that_never_gives_back", "Steps up with the longest batch of the first hour, flat ever after.",
        "600 - | 4200 - | 11400 - | 18600 -",
        gpus("g12", 8, work(9), creep=line((0, 50), (0.2, 58), (0.21, 61), (0.8, 61), (0.81, 62.6), (9, 62.6))), _HOST),
    situation("resident_md_at_63_gb", "A large system resident on the GPU, full and flat; that is the aim.",
        "600 - | 4200 - | 7800 -", gpus("g13", 1, work(10, 97), creep=_flat(63)), _SMALL, partition="small-g",
        job="gmx_mdrun"),
    situation("growth_with_room_left", "Grows by 2 GB an hour from 20 GB and ends at 36.",
        "600 - | 4200 - | 15000 -", gpus("g14", 2, work(8), creep=line((0, 20), (8, 36))), host(8, 4, 20, 120, 14),
        partition="small-g"),
    situation("validation_does_not_fit", "52 GB flat in training; the first validation dies in a moment.",
        "600 - | 3600 -", gpus("g15", 4, work(1.5), creep=_flat(52)), host(2, 5, 40, 240, 28), partition="small-g",
        state="FAILED"),
    situation("gpu_memory_not_read", "Memory was not read; use is fine.",
        "600 - | 4200 -", gpus("g16", 2, work(3), creep=lambda hours: np.full(hours.size, np.nan)),
        host(3, 4, 20, 120, 14), partition="small-g"),
)  # fmt: skip
