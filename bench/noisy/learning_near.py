"""Near misses: machine-learning runs that come close to a finding and, to a careful expert, deserve none."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import Host, Part, Shape, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_NODE = Host(12.9, 56, 8, 122.0, 480.0, threads=4.0)
_TRAIN = Shape(seconds(5.0), 8, steady(91.0), 44.0, _NODE)

CASES: tuple[Case, ...] = (
    Case(
        "collector_of_one_node_started_late",
        "peers: a gap is not idleness (jobstats counts what it has, reportseff counts gaps as zero)",
        "Two nodes full from minute four on; the second one's samples begin a quarter of an hour later.",
        standard("dino-2n", 2, 1.2, 1.5),
        run(
            replace(_TRAIN, used_s=seconds(1.2), parts=steady(91.0, 0.055)),
            replace(_TRAIN, used_s=seconds(1.2), parts=steady(91.0, 0.055), late_clock_s=900),
        ),
        "EFFICIENT",
        sensible=fits(16, 240.0, 1.2),
    ),
    Case(
        "little_memory_and_full_use",
        "Jobanalyzer 'mouse' turned round: small memory is no sign of a small load",
        "Four GPUs at 91 % with 3 GB each: a compact network with large matrices. Fewer GPUs would not do.",
        small("pinn-4", 4, 6.1, 7.0, tasks=4),
        run(Shape(seconds(6.1), 4, steady(92.0), 3.1, Host(4.6, 28, 4, 21.0, 240.0), gpu_ids=(4, 5, 6, 7))),
        "EFFICIENT",
        sensible=fits(4, 21.0, 6.1),
    ),
    Case(
        "default_memory_of_a_whole_node",
        "job_defense_shield#9: default memory must not be blamed on the user",
        "standard-g gives 480 GB to a run that never asked for memory and uses 30 GB.",
        standard("gan-512", 1, 5.0, 6.0, spelling="no-memory"),
        run(replace(_TRAIN, host=Host(9.3, 56, 8, 30.0, 480.0))),
        "EFFICIENT",
        sensible=fits(8, 30.0, 5.0),
    ),
    Case(
        "preempted_after_forty_minutes",
        "Slurm documentation, preemption: the system ended the run",
        "Started well, then taken back by the system. Nothing is held against the user.",
        small("preempt-me", 2, 0.7, 12.0, tasks=2, state="PREEMPTED"),
        run(Shape(seconds(0.7), 2, steady(88.0, 0.08), 36.0, Host(4.1, 14, 2, 40.0, 120.0), gpu_ids=(2, 3))),
        "EFFICIENT",
        sensible=Sensible(gpus=(2,), memory_min_gb=40.0),
    ),
    Case(
        "batch_size_warm_up",
        "Brown et al., GPT-3: the batch grows over the first billions of tokens",
        "A tenth of the run with small batches at 45 %, then 93 %.",
        standard("gpt3-warmup", 2, 14.2, 16.0),
        run(
            *(
                replace(
                    _TRAIN,
                    used_s=seconds(14.2),
                    parts=(Part(0.015, 0.0), Part(0.1, 45.0, gb=30.0), Part(0.885, 93.0)),
                ),
            )
            * 2
        ),
        "EFFICIENT",
        sensible=fits(16, 240.0, 14.2),
    ),
    Case(
        "one_hiccup_of_the_file_system",
        "LUMI, 2026: single delays of Lustre metadata",
        "A single pause of nine minutes in eleven hours, on all GPUs at once. It did not come again.",
        standard("weather-ft", 1, 11.0, 12.0, spelling="gpus"),
        run(
            replace(
                _TRAIN,
                used_s=seconds(11.0),
                parts=(Part(0.015, 0.0), Part(0.55, 92.0), Part(0.014, 1.5), Part(0.421, 92.0)),
                host=replace(_NODE, io_pressure=0.03),
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 122.0, 11.0),
    ),
    Case(
        "memory_that_grows_and_stops_far_below",
        "PyTorch caching allocator: reserved memory settles after the longest batch",
        "Memory climbs from 24 to 45 GB over a day. A third is still free.",
        small("mixed-lengths", 1, 21.0, 24.0, spelling="gres"),
        run(
            Shape(seconds(21.0), 1, steady(86.0, 0.005), 24.0, Host(2.4, 7, 1, 31.0, 60.0), creep_gb=21.0, gpu_ids=(7,))
        ),
        "EFFICIENT",
        sensible=fits(1, 31.0, 21.0),
    ),
    Case(
        "element_of_an_array",
        "slurm-mail#39, #197: arrays of many equal elements; cross-validation folds",
        "One fold of a cross-validation: forty minutes on one GPU at 84 %, like the other nine.",
        small("cv-fold", 1, 0.7, 0.9, array_job_id=700001, array_task_id=4),
        run(Shape(seconds(0.7), 1, steady(87.0, 0.04), 15.5, Host(2.0, 7, 1, 14.0, 60.0, threads=3.0), gpu_ids=(1,))),
        "EFFICIENT",
        sensible=fits(1, 14.0, 0.7),
    ),
    Case(
        "training_smoke_test",
        "Site policy: runs under five minutes get no finding about GPU use",
        "A quick test before the real submission, with hardly any work.",
        small("smoke", 1, 0.07, 0.1, partition="dev-g"),
        run(Shape(252.0, 1, (Part(0.6, 0.0), Part(0.4, 70.0)), 8.0, Host(1.3, 7, 1, 9.0, 60.0), gpu_ids=(0,))),
        "INEFFICIENT",
        may=codes("walltime_overrequest"),
    ),
)
