"""Groups of runs of one work at several numbers of GPUs, with what throughput and run times allow to say. Standard library and numpy; seeded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NAN = float("nan")
H = 3600.0

# (GPUs, run time in s, samples per second or None, steps per second or None, samples in a global batch or None); rates are of the whole run
Run = tuple[int, float, float | None, float | None, float | None]


@dataclass(frozen=True)
class ScalingGroup:
    name: str
    story: str
    runs: list[Run]
    measured: bool | None  # may throughput be used rather than run times? None: either, or nothing to compare
    knee_gpus: (
        int | None
    )  # the most GPUs that still keep at least 70 % of the speed per GPU of the smallest; None: cannot be said, or either
    reason: str


def noisy(seed: int, speed: dict[int, float], part: float, repeat: int, work: float) -> list[Run]:
    """`repeat` runs at each number of GPUs, throughput up to `part` above or below the true one; run times of `work` samples at that pace and 120 s of start."""
    rng = np.random.default_rng(seed)
    out: list[Run] = []
    for gpus, rate in speed.items():
        for factor in rng.uniform(1 - part, 1 + part, repeat):
            out.append((gpus, round(120 + work / (rate * factor), 1), round(rate * float(factor), 2), None, None))
    return out


GROUPS: tuple[ScalingGroup, ...] = (
    ScalingGroup(
        "more_epochs_on_more_gpus",
        "Tried one epoch on one GPU, then trained longer the more GPUs there were. Run times grow with the GPUs although it scales well.",
        [
            (1, 2 * H, 400.0, None, None),
            (2, 3 * H, 780.0, None, None),
            (4, 5 * H, 1500.0, None, None),
            (8, 8 * H, 2700.0, None, None),
        ],
        True,
        8,
        "per GPU 400, 390, 375, 337.5 samples/s: 84 % at 8. Run times would say that 2 are already too many",
    ),
    ScalingGroup(
        "short_test_on_many_gpus",
        "Ten hours of real training on one GPU, and a test of 20 minutes on eight. By run time eight GPUs look 30 times faster.",
        [
            (1, 10 * H, 1000.0, None, None),
            (2, 9 * H, 1700.0, None, None),
            (4, 1.2 * H, 2300.0, None, None),
            (8, 1200.0, 2700.0, None, None),
        ],
        True,
        2,
        "per GPU 100, 85, 57.5, 34 %",
    ),
    ScalingGroup(
        "weak_scaling_with_known_batches",
        "The batch of each GPU stays 64, so the global batch grows with the GPUs and steps/s hardly changes; all runs do 50,000 steps.",
        [
            (8, 25_100.0, None, 2.0, 512.0),
            (16, 25_700.0, None, 1.95, 1024.0),
            (32, 26_400.0, None, 1.9, 2048.0),
            (64, 27_100.0, None, 1.85, 4096.0),
        ],
        True,
        64,
        "samples/s = steps/s x batch: per GPU 128, 124.8, 121.6, 118.4: 92 % at 64. Steps/s or run times alone would say that it does not scale",
    ),
    ScalingGroup(
        "same_steps_and_same_batch",
        "More GPUs, the same global batch, the same steps/s: each GPU gets less work and nothing becomes faster.",
        [(8, 6.9 * H, None, 2.0, 512.0), (16, 6.6 * H, None, 2.1, 512.0), (32, 6.8 * H, None, 2.05, 512.0)],
        True,
        8,
        "per GPU 100, 52, 26 %",
    ),
    ScalingGroup(
        "steps_equal_and_batch_unknown",
        "steps/s is the same at all sizes and every run ended at its limit of ten hours. Whether the batch grew is not known.",
        [(8, 10 * H, None, 2.0, None), (16, 10 * H, None, 1.98, None), (32, 10 * H, None, 1.96, None)],
        False,
        None,
        "either it scales perfectly (weak) or not at all (strong): neither steps/s nor equal run times can tell",
    ),
    ScalingGroup(
        "steps_only_but_run_times_agree",
        "steps/s with unknown batch, and the same work to its end each time.",
        [
            (1, 8.0 * H, None, 1.0, None),
            (2, 4.2 * H, None, 1.9, None),
            (4, 2.3 * H, None, 3.5, None),
            (8, 1.6 * H, None, 5.0, None),
        ],
        False,
        4,
        "run times: 95 % at 2, 87 % at 4, 62.5 % at 8",
    ),
    ScalingGroup(
        "steps_lie_when_the_batch_shrinks",
        "The user kept the batch of each GPU and cut it when going to eight GPUs; steps/s jumps, the batch is not known to anybody. Same epochs each time.",
        [
            (1, 30_000.0, None, 2.0, None),
            (2, 15_800.0, None, 2.0, None),
            (4, 8_300.0, None, 1.95, None),
            (8, 7_000.0, None, 6.1, None),
        ],
        False,
        4,
        "run times: 95 % at 2, 90 % at 4, 54 % at 8; steps/s would say 4 is poor and 8 better",
    ),
    ScalingGroup(
        "samples_here_and_steps_with_batch_there",
        "Old runs logged samples/s, newer ones steps/s and the batch as a parameter. One can be turned into the other.",
        [
            (1, 9 * H, 500.0, None, None),
            (2, 3 * H, 960.0, None, None),
            (4, 6 * H, None, 7.2, 256.0),
            (8, 2 * H, None, 12.0, 256.0),
        ],
        True,
        8,
        "500, 480, 460.8, 384 samples/s per GPU: 77 % at 8",
    ),
    ScalingGroup(
        "samples_here_and_steps_without_batch_there",
        "Old runs logged samples/s, newer ones only steps/s with a batch that is not known. The work was the same in all.",
        [
            (1, 40_000.0, 250.0, None, None),
            (2, 21_000.0, 476.0, None, None),
            (4, 11_800.0, None, 3.3, None),
            (8, 8_600.0, None, 4.5, None),
        ],
        False,
        4,
        "two kinds of rate that cannot be compared; run times: 95 % at 2, 85 % at 4, 58 % at 8",
    ),
    ScalingGroup(
        "samples_steps_and_batch_agree",
        "All three are known and agree. Epochs differ from run to run.",
        [(8, 5 * H, 4096.0, 4.0, 1024.0), (16, 9 * H, 7782.4, 7.6, 1024.0), (32, 2 * H, 9830.4, 9.6, 1024.0)],
        True,
        16,
        "per GPU 100, 95, 60 %",
    ),
    ScalingGroup(
        "gradient_accumulation",
        "Accumulates over more batches at larger sizes: a step is slower but has more samples.",
        [
            (8, 4 * H, None, 4.0, 128.0),
            (16, 5 * H, None, 3.9, 256.0),
            (32, 3 * H, None, 1.9, 1024.0),
            (64, 4 * H, None, 0.6, 4096.0),
        ],
        True,
        32,
        "64, 62.4, 60.8, 38.4 samples/s per GPU: 95 % at 32, 60 % at 64",
    ),
    ScalingGroup(
        "slower_with_more_nodes",
        "Without the fabric's plugin, more nodes make it slower. Fixed batch.",
        [(8, 6.0 * H, None, 3.0, 256.0), (16, 5.1 * H, None, 3.6, 256.0), (32, 6.5 * H, None, 2.8, 256.0)],
        True,
        8,
        "per GPU 100, 60, 23 %",
    ),
    ScalingGroup(
        "noise_of_ten_percent",
        "Three runs at each size, each up to 10 % above or below.",
        noisy(1, {1: 200.0, 2: 380.0, 4: 704.0, 8: 832.0}, 0.10, 3, 5.0e6),
        True,
        4,
        "true speed per GPU 100, 95, 88, 52 %: no noise of 10 % moves that across 70 %",
    ),
    ScalingGroup(
        "noise_of_ten_percent_near_the_edge",
        "Three runs at each size, up to 10 % above or below; eight GPUs truly keep 71 %.",
        noisy(2, {1: 200.0, 2: 386.0, 4: 720.0, 8: 1136.0}, 0.10, 3, 5.0e6),
        True,
        None,
        "4 or 8 are both right: the noise is larger than the distance from 70 %",
    ),
    ScalingGroup(
        "one_sick_node",
        "Three runs at each size; one of those on four GPUs had a throttled GPU and made a third of the speed.",
        [
            (2, 7.9 * H, 352.0, None, None),
            (2, 8.0 * H, 348.0, None, None),
            (2, 8.1 * H, 344.0, None, None),
            (4, 4.2 * H, 662.0, None, None),
            (4, 13.0 * H, 214.0, None, None),
            (4, 4.3 * H, 655.0, None, None),
            (8, 2.4 * H, 1160.0, None, None),
            (8, 2.4 * H, 1172.0, None, None),
            (8, 2.5 * H, 1120.0, None, None),
        ],
        True,
        8,
        "medians per GPU 174, 163.75, 145: 94 % and 83 %. The mean at 4 would be 73 % and a run of its own 31 %",
    ),
    ScalingGroup(
        "an_outlier_at_the_smallest_size",
        "One of three runs on one GPU met a stalled file system and made 40 % of its speed. Taken as the base it would make all sizes look better than linear.",
        [
            (1, 10.0 * H, 300.0, None, None),
            (1, 25.0 * H, 120.0, None, None),
            (1, 10.1 * H, 297.0, None, None),
            (2, 5.3 * H, 566.0, None, None),
            (4, 3.1 * H, 970.0, None, None),
            (8, 2.6 * H, 1150.0, None, None),
        ],
        True,
        4,
        "median base 297: 95 % at 2, 82 % at 4, 48 % at 8 (against 120 it would be 120 % at 8)",
    ),
    ScalingGroup(
        "a_lucky_run_on_many_gpus",
        "Three runs on 16 GPUs; one of them read cached data and was twice as fast as the others.",
        [
            (4, 6.0 * H, 1000.0, None, None),
            (4, 6.1 * H, 985.0, None, None),
            (4, 6.0 * H, 1004.0, None, None),
            (8, 3.4 * H, 1780.0, None, None),
            (8, 3.4 * H, 1775.0, None, None),
            (16, 3.1 * H, 1960.0, None, None),
            (16, 1.6 * H, 3900.0, None, None),
            (16, 3.1 * H, 1990.0, None, None),
        ],
        True,
        8,
        "medians per GPU 250, 222, 124: 89 % and 50 %",
    ),
    ScalingGroup(
        "one_number_of_gpus_alone",
        "Always eight GPUs, with throughput in all five runs.",
        [
            (8, 3 * H, 900.0, None, None),
            (8, 3.1 * H, 880.0, None, None),
            (8, 9 * H, 905.0, None, None),
            (8, 0.4 * H, 870.0, None, None),
            (8, 3 * H, 899.0, None, None),
        ],
        None,
        None,
        "one number of GPUs says nothing about how it scales",
    ),
    ScalingGroup("one_run_alone", "A single run.", [(4, 2 * H, 650.0, 2.5, 260.0)], None, None, "nothing to compare"),
    ScalingGroup(
        "throughput_at_one_size_only",
        "Logging was added late, so only the runs on four GPUs have throughput. The work is the same in all runs.",
        [
            (1, 12.0 * H, None, None, None),
            (2, 6.3 * H, None, None, None),
            (4, 3.4 * H, 610.0, None, None),
            (4, 3.5 * H, 600.0, None, None),
            (8, 2.7 * H, None, None, None),
        ],
        False,
        4,
        "throughput at one size cannot be compared; run times: 95 % at 2, about 87 % at 4, 56 % at 8",
    ),
    ScalingGroup(
        "run_times_only",
        "Nothing was logged. The same work on 1, 2, 4 and 8 GPUs.",
        [
            (1, 20_000.0, None, None, None),
            (2, 12_500.0, None, None, None),
            (4, 10_000.0, None, None, None),
            (8, 9_500.0, None, None, None),
        ],
        False,
        2,
        "80 % at 2, 50 % at 4, 26 % at 8",
    ),
    ScalingGroup(
        "different_epochs_and_no_throughput",
        "Nothing was logged, and the user did more epochs with more GPUs; nobody but the user knows.",
        [(1, 2 * H, None, None, None), (2, 6 * H, None, None, None), (4, 20 * H, None, None, None)],
        False,
        None,
        "run times that grow with the GPUs compare different amounts of work: no number must be drawn from them, and either answer is accepted",
    ),
    ScalingGroup(
        "all_ended_at_the_limit",
        "Pretraining: each job runs to its limit of 24 h and the next goes on. Run times are equal at all sizes.",
        [
            (8, 24 * H, 1000.0, None, None),
            (16, 24 * H, 1900.0, None, None),
            (32, 24 * H, 3400.0, None, None),
            (64, 24 * H, 3900.0, None, None),
        ],
        True,
        32,
        "per GPU 100, 95, 85, 49 %",
    ),
    ScalingGroup(
        "rates_logged_per_gpu",
        "Each process logs its own samples/s, under the same name: 200 at every size. Run times show that the same work became much faster.",
        [
            (1, 8.0 * H, 200.0, None, None),
            (2, 4.1 * H, 199.0, None, None),
            (4, 2.1 * H, 197.0, None, None),
            (8, 1.1 * H, 195.0, None, None),
        ],
        None,
        None,
        "samples/s and run times contradict each other: a careful rule says neither, and 8 (by run times) is what really happened; 1 would be wrong, but cannot be blamed on it",
    ),
    ScalingGroup(
        "a_run_that_never_made_a_step",
        "The first try on 16 GPUs failed after three minutes without a step, so it has no throughput; a second one logged 0.",
        [
            (2, 8 * H, 500.0, None, None),
            (4, 5 * H, 960.0, None, None),
            (8, 6 * H, 1800.0, None, None),
            (16, 180.0, None, None, None),
            (16, 200.0, 0.0, None, None),
        ],
        True,
        8,
        "96 % at 4, 90 % at 8; 16 was not measured, and three minutes are not a fast run",
    ),
    ScalingGroup(
        "not_a_number_among_them",
        "One run on four GPUs logged NaN as its throughput. The others are sound; epochs differ.",
        [
            (1, 3 * H, 310.0, None, None),
            (2, 7 * H, 600.0, None, None),
            (4, 2 * H, NAN, None, None),
            (4, 9 * H, 1130.0, None, None),
            (8, 4 * H, 1450.0, None, None),
        ],
        True,
        4,
        "97 % at 2, 91 % at 4, 58 % at 8; NaN is left out",
    ),
    ScalingGroup(
        "better_than_linear",
        "On one GPU the data do not fit into memory and are read again; on more they do.",
        [
            (1, 9.0 * H, 100.0, None, None),
            (2, 4.0 * H, 230.0, None, None),
            (4, 2.0 * H, 470.0, None, None),
            (8, 1.1 * H, 900.0, None, None),
        ],
        True,
        8,
        "per GPU 100, 115, 117.5, 112.5 %",
    ),
)
