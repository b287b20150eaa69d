"""Busy at low power: collectives that never return, and work that only looks so."""

from __future__ import annotations

from bench.early.situations.build import gpus, host, idle, situation, spin, work
from bench.early.situations.situation import Progress

_HOST = host(10, 9, 60)
_M = "spinning"
_STOPS = Progress(tuple((120.0 + 60 * n, 10 * n) for n in range(50)), 5000)
_GOES_ON = Progress(tuple((120.0 + 60 * n, 10 * n) for n in range(540)), 5400)
_SLOW = Progress(tuple((600.0 * n, n) for n in range(54)), 54)

SPINNING = (
    situation("all_gather_never_returns", "50 minutes of good work, then 100 percent at 130 W a module to the limit.",
        f"600 - | 3600 - | 7800 {_M} | 11400 {_M}",
        gpus("p1", 8, idle(0.05), work(0.83), spin(10)), _HOST, limit_h=10, state="TIMEOUT"),
    situation("hang_with_a_flat_step_counter", "The logged step stands at 490 since the hang began.",
        f"600 - | 3600 - | 7800 {_M} | 11400 {_M}",
        gpus("p2", 8, work(0.85), spin(9)), _HOST, state="CANCELLED", progress=_STOPS),
    situation("first_collective_of_four_nodes", "32 GPUs spin from the third minute on.",
        f"600 - | 4200 {_M} | 7800 {_M}",
        [gpus(f"p3{n}", 8, idle(0.05), spin(6, gb=6)) for n in range(4)], host(6, 9, 40), state="CANCELLED"),
    situation("rank_dead_seven_spin", "GPU 3 is empty, the other seven wait for it.",
        f"600 - | 4200 - | 7800 {_M}",
        gpus("p4", 8, work(1.3), spin(9, (99, 99, 99, 0, 99, 99, 99, 99))), _HOST, state="TIMEOUT", limit_h=9),
    situation("hang_after_three_hours", "A link flap in the fourth hour; the queue of kernels waits since then.",
        f"4200 - | 11400 - | 15000 {_M} | 18600 {_M}",
        [gpus(f"p5{n}", 8, work(3.3), spin(10)) for n in range(2)], _HOST, state="CANCELLED"),
    situation("hang_of_two_gpus", "Two GPUs of one module deadlock in a peer copy.",
        f"600 - | 4200 {_M} | 7800 {_M}",
        gpus("p6", 2, work(0.4), spin(5)), host(5, 2, 20, 120, 14), partition="small-g", state="TIMEOUT", limit_h=5),
    situation("hang_at_a_checkpoint", "The barrier before the second checkpoint never opens.",
        f"4200 - | 7800 - | 11400 {_M}",
        gpus("p7", 8, work(2.2), spin(8)), _HOST, state="CANCELLED"),
    situation("hang_of_a_resumed_run", "Loads for 20 minutes, then its first all-reduce spins.",
        f"600 - | 4200 {_M}",
        gpus("p8", 8, idle(0.35), spin(6)), host(6, 9, 60), state="TIMEOUT", limit_h=6),
    situation("memory_bound_work", "A sparse solver at 320 W a module: bound by memory, not waiting.",
        "600 - | 4200 - | 7800 -", gpus("p9", 8, work(9, 97, watts=114)), _HOST),
    situation("md_of_a_small_system", "Small kernels at 200 W a module; the step counter goes on.",
        "600 - | 4200 - | 7800 -", gpus("p10", 8, work(9, 96, watts=58)), _HOST, job="gmx_small", progress=_GOES_ON),
    situation("slow_transport_that_proceeds", "Collectives over plain sockets: 155 W a module, steps come slowly. "
        "Worth knowing, no hang.",
        f"600 - | 4200 ?{_M} | 7800 ?{_M}",
        [gpus(f"p11{n}", 8, spin(9, 97, watts=33)) for n in range(2)], _HOST, progress=_SLOW),
    situation("decode_of_single_prompts", "Tensor parallel 8 with one prompt: 150 W, answers come.",
        f"600 - | 4200 ?{_M} | 7800 ?{_M}", gpus("p12", 8, spin(5, 96, 57, 30)), host(5, 4, 40), job="tp8-chat"),
    situation("spins_for_fifteen_minutes", "Waits for a slow rank that compiles, then works.",
        "600 - | 1500 - | 4200 -", gpus("p13", 8, idle(0.1), spin(0.4), work(9)), _HOST),
    situation("barrier_during_output", "20 minutes of low power each two hours while rank 0 writes.",
        "4200 - | 7800 - | 8300 - | 15000 -",
        gpus("p14", 8, *(p for n in range(4) for p in (work(2.35 * n + 2), spin(2.35 * n + 2.33)))), _HOST),
    situation("busy_without_power", "100 percent busy and no power was read. Nobody can tell.",
        "600 - | 4200 - | 7800 -", gpus("p15", 8, work(9, 99.5), has_power=False), _HOST),
    situation("half_busy_at_low_power", "55 percent busy for want of data: low power, because it is half idle.",
        "600 - | 4200 - | 7800 -", gpus("p16", 8, work(9, 55, watts=90)), host(9, 54, 60)),
    situation("one_gpu_of_a_module", "A single GPU at 97 percent: the power of its module is not the job's to read.",
        "600 - | 4200 - | 7800 -", gpus("p17", 1, work(9, 97)), host(9, 4, 20, 60, 7), partition="small-g"),
)  # fmt: skip
