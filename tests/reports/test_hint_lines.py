"""The lines that `sbatch` shows: three of 120 characters, and no option is ever cut."""

from __future__ import annotations

import pytest

from reports.insight_texts import HINT_LENGTH_MAX, HINT_LINES_MAX, failure_hint, no_use_hint, saving_hint

SWEEP = [
    "--gpus-per-node=8 -> --gpus-per-node=1",
    "--ntasks-per-node=1 -> --ntasks-per-node=1",
    "--cpus-per-task=56 -> --cpus-per-task=7",
    "(not set) -> --mem=60G",
    "--time=1-00:00:00 -> --time=06:00:00",
]


def test_what_needs_two_lines_has_them() -> None:
    """38 + 42 + 39 characters with two commas and blanks are 123: the third option begins the next line."""
    assert saving_hint(9, 157.5, SWEEP, 90) == [
        "Kaiku, last 90 days: 9 runs of this work would have used 157.5 GPU-hours less with:",
        "--gpus-per-node=8 -> --gpus-per-node=1, --ntasks-per-node=1 -> --ntasks-per-node=1,",
        "--cpus-per-task=56 -> --cpus-per-task=7, add --mem=60G, --time=1-00:00:00 -> --time=06:00:00",
    ]


def test_what_has_no_place_is_counted() -> None:
    shown = "--gpus-per-node=8 -> --gpus-per-node=1, --ntasks-per-node=1 -> --ntasks-per-node=1"
    assert saving_hint(9, 157.5, SWEEP, 90, room=2)[1] == f"{shown}; kaiku check SCRIPT shows 3 more"
    assert saving_hint(9, 157.5, ["--gpus=8 -> --gpus=2", f"--constraint={'x' * 300}"], 90)[1:] == [
        "--gpus=8 -> --gpus=2; kaiku check SCRIPT shows 1 more"
    ]
    assert saving_hint(9, 157.5, [f"--constraint={'x' * 300}"], 90)[1:] == ["kaiku check SCRIPT shows 1 line"]


@pytest.mark.parametrize("options", [0, 1, 3, 9, 30])
@pytest.mark.parametrize("length", [1, 40, 59, 60, 119, 120, 121])
def test_no_line_is_too_long_and_no_option_is_cut(options: int, length: int) -> None:
    written = [f"--o{number:02d}{'x' * length}"[:length] for number in range(options)]
    for room in (2, HINT_LINES_MAX):
        lines = saving_hint(123_456, 1_234_567.8, written, 365, room)
        assert len(lines) <= room
        assert all(len(line) <= HINT_LENGTH_MAX for line in lines)
        words = " ".join(lines[1:]).partition("kaiku check")[0].replace(",", "").replace(";", "").split()
        assert words == written[: len(words)]


def test_the_longest_sentences_fit() -> None:
    longest = [
        *no_use_hint(1234, 1234, 123_456.7, 365),
        *no_use_hint(1234, 2345, 123_456.7, 365),
        *failure_hint("gpu_out_of_memory", 5, 5),
    ]
    assert [len(line) <= HINT_LENGTH_MAX and "..." not in line for line in longest] == [True] * 3
