"""What is read off the figures: the numbers of the picture, gaps in words, as many rows as people read."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.series import JobSeries
from reports.figure_data import CELLS_MAX, FigureData, figure_data, has_numbers, use_by_row
from reports.figure_readings import TABLE_ROWS_MAX, Reading, Table, packed, readout
from reports.figures import FIGURES, axes_box
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, node_payload
from tests.reports.builders import figures_of


def reading(name: str, data: FigureData) -> Reading:
    return readout(name, data)[0]


def table(name: str, data: FigureData) -> Table:
    return readout(name, data)[1]


def holed() -> FigureData:
    """Two GPUs over four minutes; the second minute was measured on one, the third on none."""
    first = {"step_s": 60.0, "util": [80.0, 60.0, None, 100.0], "mem_gb": []}
    second = {"step_s": 60.0, "util": [20.0, None, None, 0.0], "mem_gb": []}
    return figures_of([gpu(0, timeline=first, peak_mem_gb=None), gpu(1, timeline=second, peak_mem_gb=14.25)])


def wide(nodes: int, buckets: int = 240) -> FigureData:
    """Eight GPUs on each of many nodes, the share of a node growing with its number."""
    gpus = nodes * 8
    index = np.arange(gpus) // 8
    util = np.tile(100.0 * index / max(nodes - 1, 1), (buckets, 1))
    return FigureData(
        labels=tuple(f"nid{node:06d}:{gpu % 8}" for gpu, node in enumerate(index.tolist())),
        node_index=index,
        series=JobSeries(30.0, util, util),
        peak_mem_gb=np.linspace(1, 64, gpus),
        mem_total_gb=np.full(gpus, 64.0),
        nodes=tuple(f"nid{node:06d}" for node in range(nodes)),
    )


def test_use_over_time_reads_mean_and_span_and_says_where_nothing_was_measured() -> None:
    assert reading("gpu_use", holed()).texts == (
        "0:00:00: 50.0 %, single GPUs 20.0 to 80.0 %",
        "0:01:00: 60.0 %, single GPUs 60.0 to 60.0 %",
        "0:02:00: not measured",
        "0:03:00: 50.0 %, single GPUs 0.0 to 100.0 %",
    )


def test_use_over_time_as_a_table_leaves_gaps_as_gaps() -> None:
    shown = table("gpu_use", holed())
    assert shown.head == ("From", "Mean GPU use", "Least used GPU", "Most used GPU")
    assert shown.rows[2] == ("0:02:00", "not measured", "not measured", "not measured")
    assert shown.note == "Each row is 0:01:00 (hours:minutes:seconds) of the run, as measured."


def test_one_gpu_has_no_span() -> None:
    alone = figures_of([gpu(0, timeline={"step_s": 60.0, "util": [80.0, 60.0], "mem_gb": []})])
    assert reading("gpu_use", alone).texts == ("0:00:00: 80.0 %", "0:01:00: 60.0 %")
    assert table("gpu_use", alone).head == ("From", "Mean GPU use")


def test_a_long_run_has_as_many_rows_as_people_read_and_says_what_a_row_is() -> None:
    shown = table("gpu_use", wide(1))
    # 240 buckets of half a minute in 24 rows: ten of them in each.
    assert len(shown.rows) == TABLE_ROWS_MAX
    assert shown.note == "Each row is 0:05:00 (hours:minutes:seconds) of the run, the mean of what was measured."
    assert [row[0] for row in shown.rows[:2]] == ["0:00:00", "0:05:00"]


def test_memory_names_the_gpu_whose_peak_was_not_measured() -> None:
    assert reading("gpu_memory", holed()).texts == (
        "GPU 0: peak not measured, capacity 64.0 GB",
        "GPU 1: peak 14.2 GB, capacity 64.0 GB",
    )
    assert table("gpu_memory", holed()).rows[0] == ("GPU 0", "not measured", "64.0 GB")


def test_the_memory_of_very_many_is_read_as_a_profile() -> None:
    texts, shown = reading("gpu_memory", wide(128)).texts, table("gpu_memory", wide(128))
    assert texts[0] == "GPU 1 of 1,024: peak 64.0 GB, capacity 64.0 GB"
    assert texts[-1] == "GPU 1,024 of 1,024: peak 1.0 GB, capacity 64.0 GB"
    assert shown.note == "1,024 GPUs in order, the fullest first; 24 of them are shown."
    assert (shown.rows[0][0], shown.rows[-1][0]) == ("1 of 1,024", "1,024 of 1,024")


def test_a_heatmap_is_read_cell_by_cell_in_tenths_of_a_percent() -> None:
    read = reading("gpu_heatmap", holed())
    assert read.rows == ("GPU 0", "GPU 1")
    assert read.texts == ("0:00:00", "0:01:00", "0:02:00", "0:03:00")
    # 80.0 % is 800 tenths: 22 * 36 + 8 is "m8"; 60.0 % "go"; 100.0 % "rs"; 20.0 % "5k".
    assert read.cells == ("m8go--rs", "5k----00")
    assert [int(sign, 36) for sign in ("m8", "go", "rs", "5k")] == [800, 600, 1000, 200]


def test_a_heatmap_as_a_table_says_what_a_dash_is() -> None:
    shown = table("gpu_heatmap", holed())
    assert shown.rows == (("GPU 0", "80", "60", "–", "100"), ("GPU 1", "20", "–", "–", "0"))
    assert shown.note.startswith("GPU use in percent, – where it was not measured.")


def test_a_heatmap_of_the_largest_runs_is_bounded_in_both_directions() -> None:
    use = use_by_row(wide(2978))
    assert use.util.size <= CELLS_MAX
    assert len(use.rows) == 128
    assert use.rows[0] == "nid000000 to nid000023"
    assert use.rows[-1] == "nid002955 to nid002977"
    # 128 rows leave 64 columns: 4 buckets of half a minute in each.
    assert (use.clock.length, use.clock.step_s) == (60, 120.0)
    assert len(table("gpu_heatmap", wide(2978)).rows) == 128


def test_what_was_averaged_for_the_heatmap_is_the_mean_of_its_nodes() -> None:
    use = use_by_row(wide(256))
    # Nodes 0 and 1 of 256 share the first row: (0 + 100 / 255) / 2.
    assert use.util[0, 0] == pytest.approx(50 / 255)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_every_figure_can_be_read_within_its_axes(name: str, size: str) -> None:
    left, top, width, height = reading(name, figures_of()).boxes[size]
    assert (left, top, width, height) == axes_box(name, figures_of(), size)
    assert 0 < left < left + width < 1
    assert 0 < top < top + height < 1
    assert table(name, figures_of()).rows


def test_what_has_no_numbers_any_more_is_known() -> None:
    unmeasured = figure_data(metrics_of(node_payload(gpus=[gpu(0, timeline=None, peak_mem_gb=None)])))
    assert [name for name in FIGURES if has_numbers(name, unmeasured)] == []
    assert [name for name in FIGURES if has_numbers(name, holed())] == list(FIGURES)


def test_more_than_a_hundred_percent_does_not_spill_into_the_next_cell() -> None:
    assert packed(np.array([500.0, -3.0])) == "zz00"
