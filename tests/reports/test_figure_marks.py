"""Where findings lie in the time of a run, by hand-checked evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.figure_data import figure_data
from reports.figure_marks import Mark, figure_marks, levels, mark_list
from reports.figure_readings import readout
from reports.figures import draw
from reports.job_report import FindingView
from reports.lessons import LessonView
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, node_payload
from tests.reports.builders import report

Evidence = dict[str, float | int | str]


def marks_of(*found: tuple[str, Evidence]) -> tuple[Mark, ...]:
    """The marks of a run of 7,200 seconds with these findings alone."""
    views = tuple(FindingView(code, code, 1.0, evidence, "", LessonView(), "counted") for code, evidence in found)
    return figure_marks(replace(report(), findings=views))


LATE, TAIL = ("late_start", {"idle_s": 1800.0}), ("idle_tail", {"idle_s": 600.0})


@pytest.mark.parametrize(
    ("found", "start_s", "end_s", "words"),
    [
        ([LATE], 0, 1800, "first 30 min 00 s"),
        ([TAIL], 6600, 7200, "last 10 min 00 s"),
        # The last GPU stopped when the tail began, after 6,600 seconds; the first one 1,200 seconds before.
        ([("load_imbalance", {"early_s": 1200.0}), TAIL], 5400, 6600, "from 1 h 30 min to 1 h 50 min"),
        # Work from 1,800 to 6,600 seconds: its first third ends at 3,400.
        ([("io_or_sync_stall", {"pattern": "fallen"}), LATE, TAIL], 3400, 6600, "from 56 min 40 s to 1 h 50 min"),
        ([("idle_gpus", {"gpu_list": "nid005123: 2-7"})], 0, 7200, "the whole run"),
        ([("timeout", {})], 7200, 7200, "at the end"),
    ],
)
def test_a_finding_is_marked_where_its_evidence_says(found, start_s: float, end_s: float, words: str) -> None:
    first = marks_of(*found)[0]
    assert (first.number, first.start_s, first.end_s, first.words) == (1, start_s, end_s, words)


@pytest.mark.parametrize(
    "found",
    [
        ("overscaling", {"gpus": 8}),
        ("load_imbalance", {"pattern": "uneven"}),
        ("io_or_sync_stall", {"pattern": "again_and_again"}),
        ("late_start", {}),
    ],
)
def test_a_finding_without_a_place_in_time_is_not_marked_and_the_next_keeps_its_number(found) -> None:
    assert [(mark.number, mark.code) for mark in marks_of(found, TAIL)] == [(2, "idle_tail")]


def test_a_finding_at_several_times_is_in_the_list_of_marks_without_a_place() -> None:
    stall: Evidence = {"pattern": "again_and_again", "stalls": 12}
    found = [("io_or_sync_stall", stall), ("overscaling", {"gpus": 8}), TAIL]
    views = tuple(FindingView(code, code, 1.0, evidence, "", LessonView(), "counted") for code, evidence in found)
    assert [(entry.number, entry.words) for entry in mark_list(replace(report(), findings=views))] == [
        (1, "not at one time"),
        (3, "last 10 min 00 s"),
    ]


def test_marks_at_the_same_time_lie_above_each_other() -> None:
    marks = marks_of(("idle_gpus", {}), LATE, TAIL)
    assert levels(marks) == (0, 1, 1)
    # The late start ends where the first GPU stops: both would be drawn at that moment.
    touching = marks_of(LATE, ("load_imbalance", {"early_s": 5400.0}))
    assert [(mark.start_s, mark.end_s) for mark in touching] == [(0, 1800), (1800, 7200)]
    assert levels(touching) == (0, 1)


def test_a_run_of_unknown_length_has_no_marks() -> None:
    found = report()
    unknown = replace(found, job=replace_times(found.job))
    assert figure_marks(unknown) == ()


def replace_times(record):
    return type(record)(
        **{name: getattr(record, name) for name in record.__struct_fields__}
        | {"walltime_used_s": None, "started_at": None}
    )


def test_the_picture_and_its_numbers_hold_the_marks() -> None:
    metrics = metrics_of(node_payload(gpus=[gpu(0, 80.0), gpu(1, 80.0)]))
    plain, marked = figure_data(metrics), figure_data(metrics, marks_of(LATE, TAIL))
    assert b"#b3005e" not in draw("gpu_use", plain)
    assert b"#b3005e" in draw("gpu_use", marked)
    assert b"#ff7ab8" in draw("gpu_use", marked, is_dark=True)
    reading, _ = readout("gpu_use", marked)
    assert reading.marks == ((1, 0.0, 1800.0, 0), (2, 6600.0, 7200.0, 0))
    # 80.0 % is 800 tenths: 22 times 36 and 8.
    assert (reading.step_s, [course[:4] for course in reading.courses]) == (60.0, ["m8m8"] * 3)
    assert readout("gpu_memory", marked)[0].marks == ()


def test_the_rows_of_very_many_nodes_are_named_in_the_heatmap() -> None:
    nodes = [node_payload(node=f"nid{number:06d}", gpus=[gpu(i, 50.0) for i in range(8)]) for number in range(24)]
    drawn = draw("gpu_heatmap", figure_data(metrics_of(*nodes))).decode()
    # 24 nodes, every second of them.
    assert [number for number in range(24) if f"nid{number:06d}" in drawn] == list(range(0, 24, 2))
