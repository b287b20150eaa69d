"""Examination: jobs that only look as if a word were due, or of which it is right to say but not due."""

from __future__ import annotations

import numpy as np

from bench.early.situations.build import MORNING, NOON, Memory, gpus, host, idle, line, spin, steps, work
from bench.early.situations.examination_drawing import beats, logged, polled, quiet, seen, untidy

_HOST = host(14, 9, 70)


def _saturates(low_gb: float, high_gb: float, hours: float) -> Memory:
    """Rises as a cache does: nine tenths of the way after that many hours."""
    return lambda at: low_gb + (high_gb - low_gb) * (1 - np.exp(-2.3 * at / hours))


def _sawtooth(low_gb: float, high_gb: float, every_h: float) -> Memory:
    return lambda at: low_gb + (high_gb - low_gb) * (at % every_h) / every_h


PREPARING = (
    seen("alignment_then_folding", "Sequences are aligned on the CPU for 75 minutes.",
        "600 - | 1800 - | 3600 - | 4200 - | 7800..11400 -",
        untidy("xe1", 1, idle(1.25), work(5, 90, 45)), host(5, steps((1.25, 6.7), (5, 1.5)), 30, 60, 7),
        job="af-multimer", partition="small-g"),
    seen("long_alignment", "Three hours of alignment before the GPU: planned, though better done without one.",
        "600 - | 1800 ?cpu_only ?all_gpus_idle | 4200..7800 ?cpu_only ?all_gpus_idle | 11400 -",
        untidy("xe2", 1, idle(3.0), work(6, 90, 45)), host(6, steps((3.0, 6.8), (6, 1.5)), 35, 60, 7), job="openfold",
        partition="small-g"),
    seen("tokenises_forty_minutes", "56 processes tokenise, then eight GPUs train.", quiet(15000, 1800),
        untidy("xe3", 8, idle(0.68), work(12, 95, 55)), host(12, steps((0.68, 53), (12, 9)), 120), job="gpt-finnish"),
    seen("compiles_for_half_an_hour", "torch.compile with autotuning: short bursts on the GPUs.", quiet(11400, 1800),
        untidy("xe4", 8, idle(0.1), *beats(0.1, 0.6, 204, (3, 0, 20, 80), (0.7, 20, 22, 80)), work(9, 95, 50)),
        host(9, steps((0.6, 30), (9, 9)), 90), job="flex-attn"),
    seen("xla_compiles", "A deep model in JAX: 35 minutes of compilation on few cores, memory taken at once.",
        quiet(15000, 1800), untidy("xe5", 8, idle(0.05), idle(0.63, 48), work(10, 96, 48)),
        host(10, steps((0.63, 5), (10, 8.5)), 110), job="maxtext"),
    seen("tunes_convolutions", "MIOpen searches for 25 minutes with little use.", quiet(11400, 1800),
        untidy("xe6", 4, idle(0.05), work(0.45, 9, 12, 60), work(7, 92, 30)), host(7, 6, 50, 240, 28), job="nnunet",
        partition="small-g"),
    seen("skips_to_its_old_place", "Resumed: the loader reads past 50,000 batches for 40 minutes, then trains.",
        quiet(15000, 1800),
        untidy("xe7", 8, idle(0.72, 22), work(11, 93, 50)), host(11, steps((0.72, 20), (11, 9)), 80), job="conformer-l",
        progress=logged((0.75, 50000, 11, 64900), total=80000), limit_h=24),
    seen("resumed_near_its_end", "Starts at 80,000 of 100,000 steps; eleven hours are enough.", quiet(22200),
        untidy("xe8", 8, idle(0.15), work(11.3, 94, 50)), host(11.3, 9, 80), job="roberta-et", limit_h=14,
        progress=logged((0.2, 80000, 11.2, 100000), total=100000)),
    seen("model_of_700_gb", "Weights are read for 45 minutes, then the server answers.", quiet(15000, 1800),
        [untidy(f"xe9{n}", 8, idle(0.1), idle(0.4, 25), idle(0.75, 50),
            *beats(0.75, 9, 209 + n, (22, 65, 58, 130), (9, 0, 58, 130))) for n in range(2)], host(9, 4, 180),
        job="deepseek-serve"),
    seen("one_gpu_embeds_then_all", "Embeddings on GPU 0 for 45 minutes, then all eight train.", quiet(15000, 1800),
        untidy("xe10", 8, idle(0.05), work(0.75, (85,) + (0,) * 7, 20), work(8, 92, 45)),
        host(8, 10, 80), job="retriever"),
    seen("nodes_join_later", "Elastic training: the second node is ready after 35 minutes.", quiet(11400, 1800),
        [untidy("xe11a", 8, idle(0.1), work(8, 92, 45)), untidy("xe11b", 8, idle(0.58), work(8, 92, 45))],
        host(8, 9, 70), job="torchelastic"),
    seen("mesh_before_the_flow", "The mesh is partitioned on one core for 50 minutes.", "600 - | 4200..11400 -",
        [untidy(f"xe12{n}", 8, idle(0.85), work(8, 84, 30)) for n in range(2)],
        [host(8, steps((0.85, 1.0), (8, 8)), line((0, 10), (0.8, 200), (1, 90), (8, 90))), host(8, 8, 60)],
        job="neko-pipe"),
)  # fmt: skip

PAUSING = (
    seen("gpu_and_cpu_in_turn", "Fifty minutes of dynamics, 35 of analysis on the host, again and again.",
        quiet(22200, 1800, 3600),
        untidy("xp1", 8, *beats(0, 11, 221, (50, 85, 5, 120), (35, 0, 5, 120))), host(11, 25, 60), job="adaptive-md"),
    seen("long_evaluation", "Each three hours 45 minutes of generation; the step counter rests meanwhile.",
        quiet(22200),
        untidy("xp2", 8, idle(0.1), work(3.6, 95, 55), work(4.35, 70, 55, 90), work(7.4, 95, 55), work(8.1, 70, 55, 90),
            work(12, 95, 55)), _HOST, job="rlhf",
        progress=logged((0.12, 0, 3.6, 6900), (4.37, 6900, 7.4, 12900), (8.12, 12900, 12, 20600), total=20600)),
    seen("checkpoint_takes_25_minutes", "A checkpoint of 6 TB on a slow Lustre while the other ranks wait spinning.",
        quiet(18600),
        [untidy(f"xp3{n}", 8, idle(0.2), work(1.85, 95, 60), spin(2.27, gb=60), work(4.9, 95, 60), spin(5.3, gb=60),
            work(10, 95, 60)) for n in range(4)], host(10, 9, 200), job="llm-70b",
        progress=logged((0.25, 0, 1.85, 400), (2.3, 400, 4.9, 1050), (5.32, 1050, 10, 2200), total=2400)),
    seen("waits_for_the_writer", "Rank 0 writes fields for 38 minutes, the others spin; then it goes on by itself.",
        quiet(15000),
        untidy("xp4", 8, work(2.65, 90, 30), spin(3.28, (0,) + (99.5,) * 7, 30), work(8, 90, 30)), host(8, 8.5, 120),
        job="nektar-les"),
    seen("evaluation_on_one_gpu", "Beam search on GPU 0 for 50 minutes while seven wait in idle.", quiet(15000, 3600),
        untidy("xp5", 8, idle(0.1), work(2.4, 94, 40), work(3.25, (88,) + (0,) * 7, 40), work(9, 94, 40)),
        host(9, 8, 60), job="nllb"),
    seen("members_done_early", "Three of eight members of an ensemble have converged.", quiet(18600),
        untidy("xp6", 8, idle(0.05), work(1.4, 88, 10), work(2.6, (88,) * 6 + (0, 0), 10),
            work(7, (88,) * 5 + (0,) * 3, 10)), host(7, 7, 30), job="xtb-ensemble"),
    seen("analysis_at_the_end", "Dynamics for five hours, then 25 minutes of analysis; it ends by itself.",
        quiet(18600), untidy("xp7", 2, work(4.95, 83, 3, 110), idle(5.38)), host(5.38, 12, 20, 120, 14), job="namd-eq",
        partition="small-g", limit_h=8),
    seen("self_play", "Games on the host for twenty minutes, two minutes of updates.", quiet(15000, 1800, 3600),
        untidy("xp8", 2, *beats(0, 7, 228, (20, 0, 6, 120), (2, 80, 6, 120))), host(7, 13, 30, 120, 14),
        job="alphazero", partition="small-g"),
    seen("server_by_night", "Asked until ten, then three quiet hours, then the morning's batch.",
        "600..7800 - | 11400 - | 15000 ?all_gpus_idle | 18600 ?all_gpus_idle | 22200 -",
        untidy("xp9", 2, idle(0.15), *beats(0.15, 2.9, 229, (12, 40, 57, 120), (10, 0, 57, 120)), idle(5.6, 57),
            work(9, 70, 57)), host(9, 1, 50, 120, 14), job="vllm-api", partition="small-g", hour=17),
)  # fmt: skip

MEMORY = (
    seen("jax_takes_three_quarters", "Preallocated, as JAX does.", quiet(11400),
        untidy("xq1", 8, idle(0.08), work(7, 90, 48.5)), _HOST, job="flax-vit"),
    seen("server_takes_nearly_all", "gpu_memory_utilization=0.98: flat at 62.8 GB.", quiet(15000, 1800),
        untidy("xq2", 4, idle(0.2, 15), *beats(0.2, 9, 232, (30, 60, 62.8, 130), (6, 0, 62.8, 130))),
        host(9, 2, 60, 240, 28), job="sglang", partition="small-g"),
    seen("batch_size_found_by_trying", "The largest batch that fits: 63.3 GB from the first minutes on.",
        quiet(15000, 3600), untidy("xq3", 8, idle(0.1), work(9, 95, 63.3)), _HOST, job="lightning-auto"),
    seen("allocator_saturates", "The caching allocator grows with the lengths of the texts and stays at 61 GB.",
        quiet(22200),
        gpus("xq4", 8, work(10, 92, 40), creep=_saturates(30, 61, 2.5)), _HOST, job="longformer"),
    seen("dataset_cached_in_memory", "Decoded images are kept until all are there: 425 of 480 GB.",
        "600 - | 4200 - | 7800 - | 11400..18600 -",
        untidy("xq5", 8, idle(0.1), work(12, 85, 30)), host(12, 40, _saturates(20, 425, 3.5)), job="cached-resnet"),
    seen("five_shards_then_flat", "Sixty GB each 25 minutes, five times.", quiet(15000, 1800),
        untidy("xq6", 8, idle(0.15), work(9, 90, 40)),
        host(9, 9, steps(*((0.42 * (n + 1), 30 + 60 * n) for n in range(5)), (9, 330))), job="graph-store"),
    seen("freed_after_each_epoch", "Grows for ninety minutes to 340 GB, then falls back.", quiet(18600, 3600),
        untidy("xq7", 8, idle(0.1), work(11, 88, 40)), host(11, 20, _sawtooth(60, 340, 1.55)), job="tft-epochs"),
    seen("grows_but_ends_before", "Twenty GB an hour, and the limit is ten hours.", quiet(18600),
        untidy("xq8", 8, idle(0.1), work(9.6, 91, 40)), host(9.6, 9, line((0, 45), (9.6, 240))), job="stats-kept",
        limit_h=10),
    seen("full_of_page_cache", "Memory-mapped data: 40 GB of its own, the rest is cache.", quiet(15000),
        untidy("xq9", 4, idle(0.1), work(8, 90, 30)), host(8, 6, 40, 240, 28, cache_gb=198), job="memmap-lm",
        partition="small-g"),
    seen("data_in_small_memory", "Loads 52 of 60 GB in 40 minutes and keeps it.", quiet(11400, 1800),
        untidy("xq10", 1, idle(0.2), work(6, 60, 12)), host(6, 4, line((0, 2), (0.65, 52), (6, 52.5)), 60, 7),
        job="tabular", partition="small-g"),
)  # fmt: skip

LOW_POWER = (
    seen("small_kernels_with_steps", "A recurrent network: always busy at 55 W, and its steps go on.",
        quiet(15000, 1800, 3600),
        untidy("xl1", 1, idle(0.05), work(8, 97, 6, 55)), host(8, 1.1, 8, 60, 7), job="lstm-hydro", partition="small-g",
        progress=logged((0.08, 0, 8, 91000), total=120000), limit_h=12),
    seen("small_kernels_on_eight", "Eight small models, one each; the steps are logged.", quiet(15000, 1800),
        untidy("xl2", 8, idle(0.05), work(9, 96, 4, 36)), host(9, 8.5, 30), job="deepar",
        progress=logged((0.1, 0, 9, 45000), total=60000), limit_h=14),
    seen("small_kernels_without_steps", "Two replicas of a coarse-grained protein; nothing is logged.",
        quiet(15000, 1800), untidy("xl3", 2, work(9, 94, 0.6, 40)), host(9, 2.4, 3, 120, 14), job="openmm-cg",
        partition="small-g"),
    seen("bound_by_memory", "A sparse solver with long vectors: always busy at moderate power.", quiet(15000, 3600),
        [untidy(f"xl4{n}", 8, work(9, 98, 40, 105)) for n in range(2)], host(9, 8.3, 60), job="hpcg-like"),
    seen("decodes_one_by_one", "Generation with a batch of one.", quiet(11400, 1800),
        untidy("xl5", 2, idle(0.15), work(6, 92, 45, 75)), host(6, 2.2, 40, 120, 14), job="generate",
        partition="small-g"),
    seen("long_messages", "A third of each step is communication between sixteen small ranks.", quiet(15000),
        [untidy(f"xl6{n}", 8, work(8, 98, 12, 62)) for n in range(2)], host(8, 8.8, 40), job="fft-turbulence"),
    seen("busy_without_power", "The power of this node cannot be read.", quiet(11400),
        untidy("xl7", 8, idle(0.1), work(7, 98, 40), has_power=False), _HOST, job="amber"),
)  # fmt: skip

SESSIONS = (
    seen("debugs_with_breaks", "An allocation on dev-g: two tries, 40 minutes of reading, more tries.",
        quiet(7800, 1800, 3600),
        untidy("xi1", 2, *beats(0, 0.6, 241, (5, 60, 10, 120), (8, 0, 0.05, 120)), idle(1.27),
            *beats(1.27, 2.9, 242, (6, 70, 10, 120), (9, 0, 0.05, 120))), host(2.9, 2, 15, 120, 14), job="interactive",
        partition="dev-g", limit_h=3),
    seen("notebook_over_lunch", "Cells until noon, 75 minutes of lunch, cells again.", quiet(18600, 3600),
        untidy("xi2", 1, *beats(0, 2.6, 243, (4, 55, 12, 120), (14, 0, 12, 120)), idle(3.9, 12),
            *beats(3.9, 7, 244, (5, 55, 12, 120), (12, 0, 12, 120))), host(7, 1, 12, 60, 7), job="jupyter",
        partition="small-g", hour=MORNING + 1, limit_h=8),
    seen("notebook_of_a_course", "A teacher's notebook, used ten minutes an hour.", quiet(11400, 1800),
        polled("xi3", untidy("xi3", 1, *beats(0, 4, 245, (10, 40, 6, 110), (50, 0, 6, 110)))), host(4, 0.6, 8, 60, 7),
        job="ood-jupyter", partition="small-g", hour=NOON, limit_h=4),
    seen("shell_after_a_meeting", "One node, a meeting of an hour from half past one on.", quiet(11400),
        untidy("xi4", 8, *beats(0, 1.4, 246, (7, 60, 25, 130), (6, 0, 25, 130)), idle(2.5, 25),
            *beats(2.5, 5, 247, (9, 60, 25, 130), (7, 0, 25, 130))), host(5, 4, 40), job="bash", hour=NOON, limit_h=6),
)  # fmt: skip

LIMITS = (
    seen("slow_at_first", "Compiles and warms up its cache: 300 steps in the first hour, 2,000 an hour after it.",
        quiet(22200),
        untidy("xj1", 8, idle(0.2), work(1.3, 30, 40), work(17, 94, 40)), host(17, 12, 90), job="graphcast-ft",
        progress=logged((0.25, 0, 1.3, 350), (1.3, 350, 16.9, 30000), total=30000)),
    seen("stops_when_it_is_good", "max_steps is never reached: earlier runs stopped early after ten to twelve hours.",
        quiet(600) + " | 4200..22200 ?limit_too_short",
        untidy("xj2", 8, idle(0.1), work(11.2, 92, 40)), host(11.2, 9, 70), job="early-stop",
        progress=logged((0.15, 0, 11.2, 22100), total=100000),
        earlier=((10.2, 8), (11.8, 8), (10.9, 8), (11.1, 8))),
    seen("part_of_a_chain", "One of ten jobs of two days; each takes up where the last one stopped.",
        "600 ?limit_too_short | 4200..29400 ?limit_too_short",
        [untidy(f"xj3{n}", 8, idle(0.2), work(48, 95, 58)) for n in range(2)], host(48, 9, 90), job="pretrain-chain",
        limit_h=48, state="TIMEOUT", progress=logged((0.25, 144000, 48, 191700), total=500000)),
    seen("bench_then_the_real_run", "The same name was used for twenty short tests and one long run.", quiet(15000),
        untidy("xj4", 8, idle(0.1), work(9, 90, 40)), host(9, 9, 70), job="run", limit_h=10,
        earlier=(*((0.2, 8),) * 6, (21.0, 16), (0.3, 8), (8.4, 8))),
    seen("larger_and_so_faster", "Earlier runs took 20 hours on one node; four nodes need six.", quiet(15000),
        [untidy(f"xj5{n}", 8, idle(0.1), work(6, 92, 40)) for n in range(4)], host(6, 9, 70), job="scaling", limit_h=8,
        earlier=((20.1, 8), (19.8, 8), (20.4, 8), (20.0, 8))),
)  # fmt: skip

SEEMING = PREPARING + PAUSING + MEMORY + LOW_POWER + SESSIONS + LIMITS
