"""What a report states of the early words about its job, and what was left of it after them."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.early.won import PastWord
from analysis.facts import JobFacts
from reports.early.past import early_view
from tests.analysis.runs import facts

H = 3600.0


def cancelled(**record: Any) -> JobFacts:
    """Eight GPUs of small-g, 48 h requested, cancelled after an hour and a half."""
    told: dict[str, Any] = {"state": "CANCELLED", "walltime_used_s": 1.5 * H, "walltime_requested_s": 48 * H}
    return facts([0.0] * 8, **told | record)


def test_a_job_that_was_cancelled_after_a_word_did_not_use_the_rest_of_its_limit() -> None:
    view = early_view([PastWord("all_gpus_idle", 1.2 * H)], cancelled())
    assert view is not None
    assert view.won is not None
    # The word came after 72 min, the end after 90: 18 min. 48 h - 1.5 h = 46.5 h are left, at 4 GPU-hours an hour: 186.
    assert view.won.after_s == pytest.approx(18 * 60)
    assert (view.won.left_s, view.won.gpu_hours) == (46.5 * H, 186.0)
    assert view.texts == (
        "1 h 12 min after the start, Kaiku noticed that no GPU of the job was doing anything.",
        "The job was cancelled 18 min 00 s after that, 1 d 22 h before its time limit."
        " Until then it could have used up to 186.0 more GPU-hours.",
    )


@pytest.mark.parametrize(
    "record",
    [
        {"state": "COMPLETED"},
        {"state": "TIMEOUT", "walltime_used_s": 48 * H},
        {"walltime_requested_s": None},
        {"walltime_requested_s": 1.5 * H},
    ],
    ids=["ended by itself", "ended at its limit", "without a limit", "cancelled at its limit"],
)
def test_nothing_was_left_of_any_other_job(record: dict[str, Any]) -> None:
    view = early_view([PastWord("all_gpus_idle", 1.2 * H)], cancelled(**record))
    assert view is not None
    assert view.won is None
    assert len(view.texts) == 1


def test_a_word_that_was_over_before_the_job_was_cancelled_is_no_reason() -> None:
    view = early_view([PastWord("spinning", 0.5 * H, over_s=1.0 * H)], cancelled())
    assert view is not None
    assert view.won is None
    assert view.texts == (
        "30 min 00 s after the start, Kaiku noticed that the GPUs were busy at low power, as they are when programs"
        " wait."
        " 1 h 00 min after the start this was over.",
    )


def test_a_job_without_words_has_no_such_part() -> None:
    assert early_view([], cancelled()) is None


def test_a_job_without_a_price_states_the_time_alone() -> None:
    view = early_view([PastWord("cpu_only", 1.2 * H)], cancelled(partition="elsewhere"))
    assert view is not None
    assert view.texts[1] == "The job was cancelled 18 min 00 s after that, 1 d 22 h before its time limit."
