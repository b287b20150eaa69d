"""Which runs of a work failed, and what sets them apart from those that completed."""

from __future__ import annotations

from analysis.works.failures import failures
from tests.analysis.works.cases import run


def test_each_state_has_its_count_its_share_and_its_hours() -> None:
    found = failures(
        [
            run(8, 100, "FAILED", gpu_hours=1.0),
            run(8, 300, "FAILED", gpu_hours=2.0),
            run(8, 7200, "TIMEOUT"),
            run(8, 500, "CANCELLED"),
            run(8, 3600),
        ]
    )
    assert (found.ended, found.failed, found.cancelled, found.fraction) == (5, 3, 1, 0.6)
    assert [(s.state, s.runs, s.fraction, s.typical_s, s.gpu_hours) for s in found.states] == [
        ("FAILED", 2, 0.4, 200, 3.0),  # the middle of 100 s and 300 s
        ("TIMEOUT", 1, 0.2, 7200, None),
    ]


def test_no_run_at_all_has_no_share() -> None:
    found = failures([])
    assert (found.failed, found.fraction, found.states, found.traits) == (0, None, (), ())


def test_what_all_failed_runs_had_and_at_most_half_of_the_completed_ones_is_named() -> None:
    failed = [run(8, 100, "OUT_OF_MEMORY", memory_gb=60.0), run(8, 100, "OUT_OF_MEMORY", memory_gb=60.0)]
    completed = [run(8, 3600, memory_gb=60.0), run(8, 3600, memory_gb=480.0), run(8, 3600)]
    (trait,) = failures(failed + completed).traits
    # 8 GPUs and small-g had all of them; of two completed runs whose memory is known one had 60 GB.
    assert (trait.name, trait.value, trait.completed, trait.completed_of) == ("memory_gb", 60.0, 1, 2)
    assert failures([*failed, *completed, run(8, 3600, memory_gb=60.0)]).traits == ()


def test_nothing_is_common_of_one_failed_run_of_unknown_values_or_without_completed_ones() -> None:
    failed = run(4, 100, "FAILED")
    assert failures([failed, run(8, 3600)]).traits == ()
    assert [trait.name for trait in failures([failed, failed, run(8, 3600)]).traits] == ["gpus"]
    assert failures([failed, failed]).traits == ()
    unknown = run(None, 100, "FAILED")
    assert failures([failed, unknown, run(8, 3600)]).traits == ()
    assert failures([unknown, unknown, run(8, 3600)]).traits == ()


def test_findings_of_at_least_half_of_the_judged_failed_runs_are_named_each_run_once() -> None:
    judged = [
        run(8, 100, "FAILED", is_judged=True, finding_codes=" idle_gpus timeout idle_gpus "),
        run(8, 100, "FAILED", is_judged=True, finding_codes=" idle_gpus "),
        run(8, 100, "FAILED", is_judged=True),
        run(8, 100, "FAILED"),
    ]
    found = failures([*judged, run(8, 3600, is_judged=True, finding_codes=" timeout ")])
    assert (found.judged, found.findings) == (3, (("idle_gpus", 2),))
