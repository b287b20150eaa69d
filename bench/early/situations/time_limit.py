"""The time limit against logged progress and earlier runs of the same work."""

from __future__ import annotations

from bench.early.situations.build import gpus, host, idle, situation, work
from bench.early.situations.situation import Progress

_HOST = host(30, 9, 60)
_M = "limit_too_short"


def _steady(total: int | None, whole_h: float, until_h: float, start_s: float = 120.0, name: str = "max_steps",
    every_s: float = 120.0) -> Progress:  # fmt: skip
    """Steps at an even pace of which 1000 take `whole_h`, logged until `until_h`."""
    count = int((until_h * 3600 - start_s) / every_s)
    pace = 1000 / (whole_h * 3600 - start_s)
    return Progress(tuple((start_s + every_s * n, round(every_s * n * pace)) for n in range(count)), total, name)


TIME_LIMIT = (
    situation("forty_hours_of_steps_in_a_day", "1000 steps need 40 hours at an even pace; the limit is 24.",
        f"600 ?{_M} | 4200 {_M} | 11400 {_M}",
        gpus("t1", 8, work(24)), _HOST, state="TIMEOUT", progress=_steady(1000, 40, 24)),
    situation("epochs_that_do_not_fit", "100 epochs logged as a parameter; 60 will be done at the limit.",
        f"4200 {_M} | 15000 {_M}",
        gpus("t2", 4, work(10)), host(10, 4, 40, 240, 28), partition="small-g", limit_h=10, state="TIMEOUT",
        progress=Progress(tuple((600.0 * n, n) for n in range(1, 60)), 100, "num_epochs")),
    situation("earlier_runs_took_longer", "Four completed runs of this script took 7.5 to 8 hours; the limit is six.",
        f"600 {_M} | 4200 {_M} | 11400 {_M}",
        gpus("t3", 8, work(6)), _HOST, limit_h=6, state="TIMEOUT",
        earlier=((7.6, 8), (7.8, 8), (7.5, 8), (8.0, 8))),
    situation("slower_than_before", "Today's pace needs 15 hours, with slow data; the limit is ten.",
        f"4200 {_M} | 15000 {_M}",
        gpus("t4", 8, work(10, 40)), _HOST, limit_h=10, state="TIMEOUT", progress=_steady(1000, 15, 10)),
    situation("half_the_gpus_of_before", "Eight hours on 16 GPUs before, now on eight with a limit of nine.",
        f"600 ?{_M} | 4200 ?{_M} | 15000 ?{_M}",
        gpus("t5", 8, work(9)), _HOST, limit_h=9, state="TIMEOUT", earlier=((8.0, 16), (7.9, 16), (8.1, 16))),
    situation("progress_on_one_gpu", "600 of 1000 steps will be done after three days on small-g.",
        f"4200 {_M} | 22200 {_M}",
        gpus("t6", 1, work(30)), host(30, 3, 20, 60, 7), partition="small-g", limit_h=30, state="TIMEOUT",
        progress=_steady(1000, 50, 30)),
    situation("two_earlier_runs_far_beyond", "Two completed runs took 20 and 21 hours; the limit is 12.",
        f"600 ?{_M} | 4200 ?{_M} | 11400 ?{_M}",
        gpus("t7", 8, work(12)), _HOST, limit_h=12, state="TIMEOUT", earlier=((20, 8), (21, 8))),
    situation("ten_epochs_of_two_hours_in_twelve", "Ten epochs of two hours each; fewer than six are done "
        "when the limit of twelve hours comes.",
        f"600 - | 4200 - | 15000 {_M} | 22200 {_M}",
        gpus("t19", 8, work(12)), _HOST, limit_h=12, state="TIMEOUT",
        progress=Progress(tuple((7200.0 * n, n) for n in range(6)), 10, "num_epochs")),
    situation("steps_and_earlier_runs_agree", "Three completed runs took 14 hours, 1000 steps take 14.5 at "
        "today's pace; the limit is ten.",
        f"600 {_M} | 4200 {_M} | 11400 {_M} | 22200 {_M}",
        gpus("t20", 8, work(10)), _HOST, limit_h=10, state="TIMEOUT", earlier=((14, 8), (13.9, 8), (14.2, 8)),
        progress=_steady(1000, 14.5, 10)),
    situation("fits_with_an_hour_to_spare", "1000 steps need 23 hours; the limit is 24.",
        "600 - | 4200 - | 11400 -", gpus("t8", 8, work(23)), _HOST, progress=_steady(1000, 23, 23)),
    situation("slow_start_then_pace", "The first 40 minutes compile and warm up; then the pace is right for the limit.",
        "600 - | 2700 - | 4200 - | 15000 -",
        gpus("t9", 8, idle(0.3), work(9)), _HOST, limit_h=10, progress=_steady(1000, 9, 9, 2400)),
    situation("steps_without_a_total", "Steps are logged, but nothing says how many there will be.",
        "600 - | 4200 - | 11400 -", gpus("t10", 8, work(10)), _HOST, limit_h=12, progress=_steady(None, 9.9, 10)),
    situation("chain_of_jobs_with_checkpoints", "1000 steps in three jobs by plan, each to its limit: earlier "
        "runs also ended at their limit. True, and known to the owner.",
        f"600 ?{_M} | 4200 ?{_M} | 11400 ?{_M}",
        gpus("t11", 8, work(24)), _HOST, state="TIMEOUT", job="pretrain-chain", progress=_steady(1000, 70, 24)),
    situation("earlier_runs_fit", "Six completed runs took five hours, the limit is eight.",
        "600 - | 4200 - | 11400 -", gpus("t12", 8, work(5)), _HOST, limit_h=8, earlier=((5, 8),) * 6),
    situation("earlier_runs_of_all_lengths", "Completed runs took 0.5 to 9 hours for different inputs; limit six.",
        "600 - | 4200 - | 7800 -", gpus("t13", 8, work(3)), _HOST, limit_h=6,
        earlier=((0.5, 8), (9, 8), (2, 8), (4, 8), (1, 8))),
    situation("early_stopping", "1000 steps are allowed, and it stops at 300 as all its earlier runs of three hours.",
        "600 - | 4200 - | 7800 -",
        gpus("t14", 8, work(3)), _HOST, limit_h=6, earlier=((3.0, 8), (2.9, 8), (3.1, 8), (3.0, 8)),
        progress=_steady(1000, 10, 3)),
    situation("counter_that_starts_again", "The step counts from 0 in each of four stages; the total is of one stage.",
        "4200 - | 7800 - | 11400 -",
        gpus("t15", 8, work(6)), _HOST, limit_h=8,
        progress=Progress(tuple((60.0 * n, 10 * (n % 90)) for n in range(1, 360)), 900)),
    situation("validation_inside_the_pace", "No steps for a quarter of an hour each two hours; 1000 steps end in time.",
        "4200 - | 8200 - | 11400 -",
        gpus("t16", 8, work(9)), _HOST, limit_h=11,
        progress=Progress(tuple((60.0 * n, 2 * (n // 140 * 125 + min(n % 140, 125))) for n in range(1, 540)), 1000)),
    situation("two_points_of_progress", "Two steps were logged in the first minutes, too few to say anything.",
        "600 -", gpus("t17", 8, work(4)), _HOST, limit_h=6, progress=Progress(((300.0, 0), (540.0, 1)), 200)),
    situation("resumed_at_step_700", "Starts at step 700 of 1000 and will be done in time.",
        "600 - | 4200 - | 7800 -",
        gpus("t18", 8, work(5)), _HOST, limit_h=6,
        progress=Progress(tuple((120.0 * n, 700 + 2 * n) for n in range(1, 150)), 1000)),
)  # fmt: skip
