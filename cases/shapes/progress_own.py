"""Runs whose steps no list of draws describes, each drawn by a function of its own; their stories are in the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from cases.shapes.progress import (
    Points,
    Rng,
    Times,
    Use,
    cycle,
    fall,
    level,
    rise,
    shuffled,
    spoil,
    ticks,
    use_of,
    with_pauses,
)

NAN, INF = math.nan, math.inf
M, H = 60.0, 3600.0
Drawn = tuple[Use, dict[str, Points]]


def _use(rng: Rng, elapsed_s: float, percent: float, start_s: float = 60) -> Use:
    """A short start, then one level."""
    return use_of(rng, elapsed_s, (0, start_s, 2), (start_s, elapsed_s, percent))


def _hung_use(rng: Rng, elapsed_s: float, start_s: float, stuck_s: float, percent: float) -> Use:
    """Work between a short start and the moment from which all GPUs spin."""
    return use_of(rng, elapsed_s, (0, start_s, 2), (start_s, stuck_s, percent), (stuck_s, elapsed_s, 100, 0.05))


def slow_last_steps(rng: Rng) -> Drawn:
    at: Times = []
    t, d = 60.0, 20.0
    while t + d < 5 * H:
        t += d
        d *= 1.06
        at.append((len(at) + 1, round(t, 1)))
    return _use(rng, 5 * H, 96), {"objective": fall(rng, at)}


def learning_rate_finder_then_training(rng: Rng) -> Drawn:
    find = ticks(rng, 60, 60 + 300 * 0.9, 0.9, every=2)
    at = ticks(rng, 400, 4 * H - 5, 0.9, every=20)
    use = _use(rng, 4 * H, 93)
    return use, {"loss": spoil(fall(rng, find, 4.2, 3.9), 280) + fall(rng, at)}


def reinforcement_learning_with_irregular_steps(rng: Rng) -> Drawn:
    at: Times = []
    t = 60.0
    while (t := t + float(np.clip(rng.lognormal(4.0, 1.0), 5, 540))) <= 6 * H - 480:
        at.append((len(at) * 64 + 64, round(t, 1)))
    e = round(at[-1][1] + 480, 1)
    use = use_of(rng, e, (0, 60, 2), (60, e, 78, 6))
    reward, policy = rise(rng, at, -200, 180), level(rng, at, 0.02, 0.01)
    return use, {"episode_reward": reward, "policy_loss": policy, "value_loss": fall(rng, at)}


def line_search_with_long_iterations(rng: Rng) -> Drawn:
    at: Times = []
    t = 30.0
    while (t := t + float(np.clip(rng.lognormal(4.4, 1.1), 10, 900))) <= 6 * H - 840:
        at.append((len(at) + 1, round(t, 1)))
    e = round(at[-1][1] + 840, 1)
    return use_of(rng, e, (0, 30, 2), (30, e, 97, 1)), {"objective": fall(rng, at, 900, 3, 1)}


def uploaded_afterwards_with_one_time(rng: Rng) -> Drawn:
    at = [(10 * (i + 1), round(6 * H - 60 + 0.01 * i, 2)) for i in range(900)]
    return _use(rng, 6 * H, 92), {"train/loss": fall(rng, at)}


def nan_from_the_first_step(rng: Rng) -> Drawn:
    points = level(rng, ticks(rng, 60, 7 * H - 5, 1.5, every=10), NAN)
    return _use(rng, 7 * H, 94), {"train/loss": points, "train/grad_norm": points}


def nan_then_rolled_back_to_a_checkpoint(rng: Rng) -> Drawn:
    first = [tick for tick in ticks(rng, 60, 6 * H, 1.3, every=10) if tick[0] <= 6200]
    one = spoil(fall(rng, first, 4.2, 2.4), 6000)
    two = fall(rng, ticks(rng, one[-1][1] + 60, 6 * H - 5, 1.3, every=10, first=5500), 2.5, 1.4)
    return _use(rng, 6 * H, 94), {"loss": one + two}


def validation_loss_padded_with_nan(rng: Rng) -> Drawn:
    at = ticks(rng, 60, 6 * H - 5, 1.5, every=10)
    validation = [(s, t, v if s % 500 == 0 else NAN) for s, t, v in fall(rng, at, 4, 1.7)]
    loss = fall(rng, at)
    return _use(rng, 6 * H, 94), {"train/loss": loss, "val/loss": validation}


def nan_with_points_in_reverse_order(rng: Rng) -> Drawn:
    points = spoil(fall(rng, ticks(rng, 60, 4 * H - 5, 1.6, every=10)), 700)
    return _use(rng, 4 * H, 94), {"loss": points[::-1]}


def nan_with_all_points_at_step_zero(rng: Rng) -> Drawn:
    at = [(0, t) for _, t in ticks(rng, 60, 7.5 * H - 5, 15)]
    points = [(s, t, v if t < 30 * M else NAN) for s, t, v in fall(rng, at)]
    return _use(rng, 7.5 * H, 94), {"loss": points}


def nan_in_the_job_before_this_one(rng: Rng) -> Drawn:
    first = [tick for tick in ticks(rng, -20 * H, -8 * H, 2.6, every=20) if tick[0] <= 7400]
    before = spoil(fall(rng, first, 4, 2), 7000)
    after = fall(rng, ticks(rng, 120, 6 * H - 5, 2.6, every=20, first=6000), 2.2, 1.4)
    return _use(rng, 6 * H, 94, start_s=120), {"loss": before + after}


def nan_now_and_then_to_the_end(rng: Rng) -> Drawn:
    points = fall(rng, ticks(rng, 60, 5 * H - 5, 1.3, every=10))
    last = len(points) - 2
    points = [(s, t, NAN if (last - i) % 13 == 0 else v) for i, (s, t, v) in enumerate(points)]
    return _use(rng, 5 * H, 94), {"train_loss": points}


def gradient_norm_inf_now_and_then(rng: Rng) -> Drawn:
    at = ticks(rng, 60, 6 * H - 5, 1.5, every=10)
    norm = enumerate(level(rng, at, 0.9, 0.1))
    norms = [(s, t, INF if i % 35 == 0 or i == len(at) - 1 else v) for i, (s, t, v) in norm]
    loss = fall(rng, at)
    return _use(rng, 6 * H, 94), {"train/loss": loss, "train/grad_norm": norms}


def gan_logged_in_turn(rng: Rng) -> Drawn:
    at = ticks(rng, 60, 5 * H - 5, 0.9, every=15)
    last = len(at) - 1
    generator = [(s, t, NAN if (last - i) % 2 == 0 else v) for i, (s, t, v) in enumerate(fall(rng, at, 3, 1))]
    discriminator = fall(rng, at, 1.4, 0.7)
    return _use(rng, 5 * H, 90), {"lossG": generator, "lossD": discriminator}


def dips_elsewhere_than_the_gaps(rng: Rng) -> Drawn:
    dips = [(0.8 * H, 1.1 * H), (2.6 * H, 2.9 * H), (4.4 * H, 4.7 * H)]
    lost = [(1.8 * H, 1.9 * H), (3.6 * H, 3.7 * H), (5.3 * H, 5.4 * H)]
    at: Times = []
    t = 60.0
    while t < 6 * H - 10:
        t += (24 if any(a < t < b for a, b in dips) else 10) * float(rng.normal(1, 0.04))
        at.append((len(at) * 10 + 10, round(t, 1)))
    at = [tick for tick in at if not any(a < tick[1] < b for a, b in lost)]
    use = use_of(rng, 6 * H, *with_pauses(6 * H, dips, 93, 38, 60), bin_s=60)
    return use, {"train/loss": fall(rng, at)}


def a_thread_of_the_script_beats_on(rng: Rng) -> Drawn:
    at = ticks(rng, 60, H, 1.5, every=10)
    beats = [(i, 60.0 * i) for i in range(1, 720)]
    use = _hung_use(rng, 12 * H, 60, H, 93)
    return use, {"train/loss": fall(rng, at), "heartbeat": level(rng, beats, 1.0)}


def hang_with_points_sent_twice_and_in_disorder(rng: Rng) -> Drawn:
    points = fall(rng, ticks(rng, 80, 55 * M, 1.2, every=5))
    use = _hung_use(rng, 14 * H, 80, 55 * M, 92)
    return use, {"loss": shuffled(rng, points + points[::2])}


def hang_with_the_batch_index_as_step(rng: Rng) -> Drawn:
    at = [(s % 500, t) for s, t in ticks(rng, 60, 2 * H, 1.6, every=10)]
    return _hung_use(rng, 24 * H, 60, 2 * H, 93), {"loss": fall(rng, at)}


def hang_with_seconds_as_steps(rng: Rng) -> Drawn:
    at = [(1_790_000_000 + int(t), t) for _, t in ticks(rng, 60, 40 * M, 15)]
    return _hung_use(rng, 11.7 * H, 60, 40 * M, 92), {"train/loss": fall(rng, at)}


def clock_set_right_in_mid_run(rng: Rng) -> Drawn:
    points = fall(rng, ticks(rng, 60, 5 * H - 5, 1.5, every=10))
    points = [(s, round(t - 40 * M, 1) if t < 2 * H else t, v) for s, t, v in points]
    return _use(rng, 5 * H, 94), {"train/loss": points}


def healthy_in_disorder(rng: Rng) -> Drawn:
    at = ticks(rng, 60, 4 * H - 5, 1.2, every=10)
    use = _use(rng, 4 * H, 94)
    loss = shuffled(rng, fall(rng, at))
    return use, {"loss": loss, "lr": shuffled(rng, level(rng, at, 1e-4))}


def four_seeds_in_one_series(rng: Rng) -> Drawn:
    e, points = 4 * H, []
    for number in range(4):
        points += fall(rng, ticks(rng, 60, e * (0.7 + 0.1 * number) - 5, 1.5, every=10))
    points.sort(key=lambda point: point[1])
    ends = ((60, 0.7 * e, 93), (0.7 * e, 0.8 * e, 70), (0.8 * e, 0.9 * e, 47), (0.9 * e, e, 24))
    return use_of(rng, e, (0, 60, 2), *ends), {"loss": points}


def optuna_with_forty_trials(rng: Rng) -> Drawn:
    e, points, t = 6 * H, [], 60.0
    while t < e - 60:
        n = 3 if rng.random() < 0.5 else 20
        at = [(i, round(t + 55.0 * (i + 1), 1)) for i in range(n) if t + 55.0 * (i + 1) < e]
        points += fall(rng, at, 2.3, 0.4 + float(rng.random()))
        t += 55.0 * n + 12
    return use_of(rng, e, (0, 60, 2), (60, e, 86, 4)), {"val_loss": points}


def step_is_the_epoch_and_epochs_are_long(rng: Rng) -> Drawn:
    at = [(int(t // (4 * H)) + 1, t) for _, t in ticks(rng, 60, 12 * H - 20, 30)]
    return use_of(rng, 12 * H, (0, 60, 2), (60, 12 * H, 96, 1)), {"train_loss": fall(rng, at)}


def validation_after_epochs_of_different_length(rng: Rng) -> Drawn:
    stops, b = [], 60.0
    while True:
        a = b + float(rng.uniform(480, 1500))
        b = a + float(rng.uniform(180, 360))
        if b > 8 * H - 60:
            break
        stops.append((a, b))
    at = ticks(rng, 60, 8 * H - 5, 1.2, every=10, pauses=stops)
    use = use_of(rng, 8 * H, *with_pauses(8 * H, stops, 90, 3, 60), bin_s=60)
    return use, {"Loss/train": fall(rng, at)}


def evaluation_that_logs_its_own_batches(rng: Rng) -> Drawn:
    stops = cycle(60, 6 * H, 900, 240)
    at = ticks(rng, 60, 6 * H - 5, 1.5, every=5, pauses=stops)
    own = [(i, round(t, 1)) for i, t in enumerate(x for a, b in stops for x in np.arange(a + 5, b, 5.0).tolist())]
    use = use_of(rng, 6 * H, *with_pauses(6 * H, stops, 93, 8, 60), bin_s=60)
    return use, {"train/loss": fall(rng, at), "eval/batch_time": level(rng, own, 4.9, 0.1)}


def tracker_gap_and_a_dip_elsewhere(rng: Rng) -> Drawn:
    at = ticks(rng, 60, 4 * H, 1.5, every=10)
    at += ticks(rng, 4 * H, 4.5 * H, 3.0, every=10, first=at[-1][0])
    at += ticks(rng, 4.5 * H, 6 * H - 5, 1.5, every=10, first=at[-1][0])
    at = [tick for tick in at if not 2 * H < tick[1] < 2.5 * H]
    use = use_of(rng, 6 * H, (0, 60, 2), (60, 4 * H, 93), (4 * H, 4.5 * H, 46), (4.5 * H, 6 * H, 93))
    return use, {"train/loss": fall(rng, at)}


def pauses_with_points_in_disorder(rng: Rng) -> Drawn:
    stops = cycle(60, 6 * H, 900, 120)
    at = ticks(rng, 60, 6 * H - 5, 1.5, every=10, pauses=stops)
    use = use_of(rng, 6 * H, *with_pauses(6 * H, stops, 94, 1, 60), bin_s=60)
    return use, {"train/loss": shuffled(rng, fall(rng, at))}


def pauses_with_the_batch_index_as_step(rng: Rng) -> Drawn:
    stops = cycle(60, 7 * H, 1000, 300)
    at = [(s % 500, t) for s, t in ticks(rng, 60, 7 * H - 5, 2.0, every=5, pauses=stops)]
    use = use_of(rng, 7 * H, *with_pauses(7 * H, stops, 92, 3, 60), bin_s=60)
    return use, {"loss": fall(rng, at)}


def gaps_in_the_log_at_other_times_than_dips(rng: Rng) -> Drawn:
    dips = cycle(60, 6 * H, 900, 300)
    lost = [(a - 600, b - 600) for a, b in dips]
    at = [tick for tick in ticks(rng, 60, 6 * H - 5, 1.5, every=10) if not any(a < tick[1] < b for a, b in lost)]
    use = use_of(rng, 6 * H, *with_pauses(6 * H, dips, 93, 40, 60), bin_s=60)
    return use, {"train/loss": fall(rng, at)}


RUNS: Mapping[str, Callable[[Rng], Drawn]] = {
    run.__name__: run
    for run in (
        slow_last_steps,
        learning_rate_finder_then_training,
        reinforcement_learning_with_irregular_steps,
        line_search_with_long_iterations,
        uploaded_afterwards_with_one_time,
        nan_from_the_first_step,
        nan_then_rolled_back_to_a_checkpoint,
        validation_loss_padded_with_nan,
        nan_with_points_in_reverse_order,
        nan_with_all_points_at_step_zero,
        nan_in_the_job_before_this_one,
        nan_now_and_then_to_the_end,
        gradient_norm_inf_now_and_then,
        gan_logged_in_turn,
        dips_elsewhere_than_the_gaps,
        a_thread_of_the_script_beats_on,
        hang_with_points_sent_twice_and_in_disorder,
        hang_with_the_batch_index_as_step,
        hang_with_seconds_as_steps,
        clock_set_right_in_mid_run,
        healthy_in_disorder,
        four_seeds_in_one_series,
        optuna_with_forty_trials,
        step_is_the_epoch_and_epochs_are_long,
        validation_after_epochs_of_different_length,
        evaluation_that_logs_its_own_batches,
        tracker_gap_and_a_dip_elsewhere,
        pauses_with_points_in_disorder,
        pauses_with_the_batch_index_as_step,
        gaps_in_the_log_at_other_times_than_dips,
    )
}
