"""It may look like a hang, and is none."""

from __future__ import annotations

import numpy as np

from tests.analysis.progress.drawing import (
    SPIN,
    WORK,
    H,
    M,
    Points,
    dice,
    drawn,
    fall,
    level,
    mix,
    rise,
    shift,
    situation,
    spoil,
    system,
    ticks,
    use_of,
)


@situation
def tracker_gone_for_good_while_the_job_computes():
    """The tracking server went away at 3 h and asynchronous logging lost the rest. The job trained on at 305 W until its limit and wrote checkpoints."""
    e = 24 * H
    at = ticks(120, 3 * H, 2.0, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 120, 2), (120, e, 95)),
        power=WORK,
        series={"train/loss": fall(at)},
    )


@situation
def tracker_down_for_an_hour():
    """The tracker was down from 2 h to 3 h; points before and after are complete and the steps show that training went on meanwhile."""
    e = 6 * H
    at = [p for p in ticks(60, e, 1.4, every=10) if not 2 * H < p[1] < 3 * H]
    return dict(elapsed_s=e, state="COMPLETED", use=use_of(e, (0, 60, 2), (60, e, 94)), series={"loss": fall(at)})


@situation
def last_forty_minutes_lost_in_the_buffer():
    """A node failed; what the client had buffered in the last 40 minutes was lost with it. Until then everything was well."""
    e = 7 * H
    at = ticks(100, e - 40 * M, 3.0, every=5)
    return dict(
        elapsed_s=e,
        state="FAILED",
        gpus=16,
        use=use_of(e, (0, 100, 2), (100, e, 96)),
        power=320.0,
        series={"train/loss": fall(at)},
    )


@situation
def healthy_epochs_of_half_an_hour_cut_by_the_limit():
    """Logs only by epoch. The time limit came 27 minutes into the 16th epoch."""
    e = 8 * H
    at = ticks(180, e - 26 * M, 1800, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 180, 2), (180, e, 93)),
        series={"train/loss": fall(at), "val/acc": rise(at)},
    )


@situation
def slow_last_steps():
    """A growing problem: each step takes longer than the one before. The last one, of about a quarter of an hour, was not done when the limit came."""
    e = 5 * H
    at, t, d = [], 60.0, 20.0
    while t + d < e:
        t += d
        d *= 1.06
        at.append((len(at) + 1, round(t, 1)))
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, e, 96)),
        power=280.0,
        series={"objective": fall(at)},
    )


@situation
def final_evaluation_without_steps():
    """After the last step the model was evaluated on five benchmarks for 50 minutes; only the results were printed. The job ended well."""
    e = 4 * H
    at = ticks(60, e - 50 * M, 1.1, every=10)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e - 50 * M, 94), (e - 50 * M, e, 81)),
        power=285.0,
        series={"train/loss": fall(at)},
    )


@situation
def rank_zero_evaluates_and_the_job_ends_well():
    """Short fine-tuning, then rank 0 evaluated alone for two hours while seven GPUs spun in a barrier. Wasteful, but nothing hung: it completed."""
    e = 2.5 * H
    at = ticks(60, 25 * M, 1.0, every=5)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 25 * M, 92), (25 * M, e, 99.0, 0.4)),
        power=mix((25 * M, 290), (125 * M, 118)),
        series={"train/loss": fall(at)},
    )


@situation
def resumed_at_step_5000():
    """The second job of a run: its first point is step 5010, its last 9990. All well."""
    e = 4 * H
    at = ticks(120, e - 20, 2.85, every=10, first=5000)
    return dict(elapsed_s=e, use=use_of(e, (0, 120, 2), (120, e, 94)), series={"train/loss": fall(at, 2.1, 1.5)})


@situation
def resumed_with_steps_repeated():
    """The first job died at step 5000, this one began at the checkpoint of 4000 and repeated 4000 to 5000. The first job's points are in the same run, hours before this job's start."""
    e = 3 * H
    before = [(s, t) for s, t in ticks(-14 * H, -2 * H, 5.0, every=10) if s <= 5000]
    at = ticks(90, e - 15, 5.0, every=10, first=4000)
    return dict(elapsed_s=e, use=use_of(e, (0, 90, 2), (90, e, 93)), series={"train/loss": fall(before + at)})


@situation
def train_by_step_and_validation_by_epoch():
    """train/loss by step to the end, val/loss by epoch: its counter is at 7 when the other one is at 8,000, and its last point is 40 minutes old."""
    e = 6 * H
    at, val = ticks(60, e - 10, 2.6, every=10), ticks(60, e - 40 * M, 45 * M, jitter=0.005)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        series={"train/loss": fall(at), "val/loss": fall(val, 3.9, 1.6)},
    )


@situation
def warm_up_metrics_end_early():
    """Warm-up logs `train/warmup_loss` for 500 steps; the main phase logs `train/loss` to the end. The first series is flat since 20 minutes, and that is right."""
    e = 8 * H
    warm = ticks(60, 20 * M, 2.3, every=5)
    at = ticks(20 * M, e - 10, 2.3, every=20, first=500)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        series={"train/warmup_loss": fall(warm), "train/loss": fall(at)},
    )


@situation
def healthy_with_all_points_at_step_zero():
    """log_metric without a step: the counter is 0 in all points, but they come to the very end and the loss falls."""
    e = 5 * H
    at = [(0, t) for _, t in ticks(60, e - 5, 20)]
    return dict(
        elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 94)), power=295.0, series={"loss": fall(at)}
    )


@situation
def two_points_only():
    """One metric, two points: epoch 1 at 55 minutes, epoch 2 at 1:50 h; the limit came at 2:40 h in epoch 3."""
    e = 160 * M
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 90)),
        power=270.0,
        series={"loss": [(1, 55 * M, 2.31), (2, 110 * M, 1.87)]},
    )


@situation
def small_model_at_low_power():
    """A small recurrent net: GPUs at 97 % but only 104 W, since its kernels are tiny. Steps come to the last second."""
    e = 10 * H
    at = ticks(30, e - 3, 0.9, every=40)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 30, 2), (30, e, 97, 0.8)),
        power=104.0,
        series={"nll": fall(at)},
    )


@situation
def logs_at_powers_of_two():
    """Logs at steps 1, 2, 4, 8, ...: the last point is at 57 % of the run, since the next one would have come after the end. Light kernels, 112 W."""
    e = 6 * H
    at = [(2**k, round(60 + 0.75 * 2**k, 1)) for k in range(0, 15)]
    at = [p for p in at if p[1] < e]
    return dict(
        elapsed_s=e, gpus=1, use=use_of(e, (0, 60, 2), (60, e, 96, 1.0)), power=112.0, series={"loss": fall(at)}
    )


@situation
def clock_an_hour_behind():
    """The host's clock is an hour behind: points begin an hour before the job and seem to end an hour before its end. It trained throughout."""
    e = 5 * H
    at = ticks(60, e - 5, 2.0, every=10)
    return dict(
        elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 94)), series={"train/loss": shift(fall(at), -H)}
    )


@situation
def clock_an_hour_ahead():
    """The clock is an hour ahead (a time zone): points lie after the job's end. It trained throughout."""
    e = 5 * H
    at = ticks(60, e - 5, 2.0, every=10)
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94)), series={"train/loss": shift(fall(at), H)})


@situation
def healthy_with_points_in_reverse_order():
    """The newest point comes first; all well."""
    e = 3 * H
    at = ticks(60, e - 5, 1.0, every=10)
    return dict(
        elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94)), series={"loss": fall(at)[::-1], "acc": rise(at)[::-1]}
    )


@situation
def learning_rate_finder_then_training():
    """A learning-rate finder ran 300 steps until the loss was NaN, as it should; then training began at step 0 and went well."""
    e = 4 * H
    find = ticks(60, 60 + 300 * 0.9, 0.9, every=2)
    at = ticks(400, e - 5, 0.9, every=20)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 93)),
        series={"loss": spoil(fall(find, 4.2, 3.9), 280) + fall(at)},
    )


@situation
def reinforcement_learning_with_irregular_steps():
    """RL: episodes of very different length, so updates come after 5 s to 9 minutes. The last gap of 8 minutes is one of many."""
    e = 6 * H
    at, t = [], 60.0
    while True:
        t += float(np.clip(dice().lognormal(4.0, 1.0), 5, 540))
        if t > e - 480:
            break
        at.append((len(at) * 64 + 64, round(t, 1)))
    e = round(at[-1][1] + 480, 1)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, e, 78, 6)),
        power=215.0,
        series={"episode_reward": rise(at, -200, 180), "policy_loss": level(at, 0.02, 0.01), "value_loss": fall(at)},
    )


@situation
def second_script_without_metrics():
    """The job ran two scripts one after another: the first logged to 1000 steps in two hours, the second one logged nothing and computed for three hours."""
    e = 5 * H
    at = [p for p in ticks(60, 2 * H, 7.0, every=5) if p[0] <= 1000]
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, 2 * H + 90, 2), (2 * H + 90, e, 90)),
        power=292.0,
        series={"train/loss": fall(at)},
    )


@situation
def two_scripts_with_the_same_metrics():
    """A loop over two seeds in one job, logged into one run: steps go to 3000 and begin again at 10."""
    e = 4 * H
    one, two = ticks(60, 2 * H, 2.3, every=10), ticks(2 * H + 60, e - 5, 2.3, every=10)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, 2 * H + 60, 3), (2 * H + 60, e, 93)),
        series={"loss": fall(one) + fall(two)},
        step_pauses=None,
    )


@situation
def ray_tune_stops_bad_trials():
    """Ray Tune with eight trials at a time; bad ones were stopped early, so most series end in the first hours, one of them with NaN."""
    e = 8 * H
    series: dict[str, Points] = {}
    for k in range(24):
        begin = 60 + (k // 8) * 2.6 * H
        end = begin + (2.5 * H if k % 8 < 2 else 0.3 * H + 0.2 * H * (k % 5))
        series[f"trial_{k:05d}/loss"] = fall(ticks(begin, end, 60), 4.0, 1.0 + 0.1 * (k % 8))
    series["trial_00003/loss"] = spoil(series["trial_00003/loss"], len(series["trial_00003/loss"]) - 2)
    return dict(elapsed_s=e, state="COMPLETED", use=use_of(e, (0, 60, 2), (60, e, 76, 5)), power=255.0, series=series)


@situation
def loader_deadlock_with_idle_gpus():
    """The data loader's workers were killed and the main process waited for them: steps stopped at 1 h, and the GPUs were at 0 % for the other eleven."""
    e = 12 * H
    at = ticks(60, 1 * H, 1.4, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, H, 85), (H, e, 0.0, 0.05)),
        power=280.0,
        series={"train/loss": fall(at)},
    )


@situation
def file_system_stall_then_it_goes_on():
    """The file system stood still for 40 minutes; rank 0 waited for a file, the others spun at 100 %. Then training went on to the end."""
    e = 8 * H
    stall = (3 * H, 3 * H + 40 * M)
    at = ticks(60, e - 5, 2.0, every=10, pauses=[stall])
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, stall[0], 93), (*stall, 100, 0.1), (stall[1], e, 93)),
        power=mix((7.3 * H, WORK), (0.7 * H, SPIN)),
        series={"train/loss": fall(at)},
    )


@situation
def no_points_at_all():
    """The run was created but nothing was ever logged. The GPUs spun from the start. Without a counter nobody can say that progress stopped."""
    e = 6 * H
    return dict(elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 100, 0.05)), power=SPIN, series={})


@situation
def system_metrics_only():
    """The user logs no metric, only the tracker's own system metrics were stored, and its thread died at 2 h. The job trained on."""
    e = 9 * H
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 95)),
        power=300.0,
        series={"system/gpu_0_utilization": system(2 * H, 95), "system/cpu_utilization": system(2 * H, 30)},
    )


@situation
def time_limit_in_mid_epoch():
    """A healthy run that the limit cut two thirds through an epoch; the last point is 9 s before the end."""
    e = 12 * H
    at, val = ticks(150, e - 9, 1.7, every=20), ticks(150, e, 70 * M, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=32,
        use=use_of(e, (0, 150, 2), (150, e, 93)),
        power=315.0,
        series={"train/loss": fall(at), "val/loss": fall(val, 3.9, 1.7)},
    )


@situation
def uploaded_afterwards_with_one_time():
    """Logged offline and uploaded at the end: all 900 points have the time of the upload, a minute before the job's end."""
    e = 6 * H
    at = [(10 * (i + 1), round(e - 60 + 0.01 * i, 2)) for i in range(900)]
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 92)), series={"train/loss": fall(at)})


CASES = drawn(__name__)
