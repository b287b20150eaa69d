"""What one request would have saved in runs of its work, by hand at LUMI's price: 0.5 GPU-hours a GPU and hour."""

from __future__ import annotations

import pytest

from analysis.savings import LinesSaving, lines_saving
from tests.analysis.works.cases import run

H = 3600.0
WHOLE = {"cores": 56, "memory_gb": 480.0}
TWO = {"--partition": "small-g", "--nodes": "1", "--gpus": "2", "--ntasks": "2", "--mem": "120G"}


def test_the_saving_is_that_of_exactly_these_lines() -> None:
    """As of four runs of 47.325 GPU-hours: with 16 cores 2 of 8 GPUs are billed, with 32 cores four of them."""
    runs = [run(8, 11.83125 * H, gpu_hours=47.325, recommended_gpus=2, number=number, **WHOLE) for number in range(4)]
    few = lines_saving(runs, TWO | {"--cpus-per-task": "7"}, {})
    assert few == LinesSaving(4, pytest.approx(4 * 47.325 * 6 / 8))  # 142.0
    many = lines_saving(runs, TWO | {"--cpus-per-task": "16"}, {})
    # 32 cores are billed as four GPUs, 8 cores each: half of the bill.
    assert many == LinesSaving(4, pytest.approx(4 * 47.325 / 2))


def test_a_run_that_needed_more_gpus_than_the_lines_have_is_in_no_sum() -> None:
    runs = [
        run(8, 2 * H, gpu_hours=8.0, recommended_gpus=2, number=1, **WHOLE),
        run(8, 2 * H, gpu_hours=8.0, recommended_gpus=4, number=2, **WHOLE),
        run(8, 2 * H, gpu_hours=8.0, number=3, **WHOLE),
    ]
    assert lines_saving(runs, TWO, {}) == LinesSaving(1, pytest.approx(6.0))  # 8 - 0.5 x 2 x 2
    assert lines_saving(runs[1:], TWO, {}) is None


def test_a_run_that_takes_longer_as_suggested_saves_less() -> None:
    runs = [run(8, 2 * H, gpu_hours=8.0, recommended_gpus=2, **WHOLE)]
    # Its report expects 5 h on 2 GPUs: 0.5 x 2 x 5 = 5. On 4 GPUs half of that, 2.5 h: 0.5 x 4 x 2.5 = 5 as well.
    assert lines_saving(runs, TWO, {1: 5 * H}) == LinesSaving(1, pytest.approx(3.0))
    four = {**TWO, "--gpus": "4"}
    assert lines_saving(runs, four, {1: 5 * H}) == LinesSaving(1, pytest.approx(3.0))
    # 3 h on 2 GPUs are 1.5 h on 4, which no run was seen to take: 2 h as it was, 0.5 x 4 x 2 = 4.
    assert lines_saving(runs, four, {1: 3 * H}) == LinesSaving(1, pytest.approx(4.0))


def test_lines_that_save_nothing_or_have_no_price_have_no_sum() -> None:
    runs = [run(8, 2 * H, gpu_hours=8.0, recommended_gpus=2, **WHOLE)]
    assert lines_saving(runs, {**TWO, "--gpus": "8", "--mem": "480G"}, {}) is None
    assert lines_saving([run(8, 2 * H, recommended_gpus=2, **WHOLE)], TWO, {}) is None
    assert lines_saving(runs, {**TWO, "--mem": "600G"}, {}) is None  # Slurm refuses it
    assert lines_saving([], TWO, {}) is None
