"""The figures: valid, the same every time, honest about gaps, quick for very large jobs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from metrics.series import JobSeries
from reports.figure_data import FigureData
from reports.figures import FIGURES, draw
from tests.payloads import gpu
from tests.reports.builders import figures_of, report


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_svg_and_the_same_every_time(name: str) -> None:
    first, second = draw(name, figures_of()), draw(name, figures_of())
    assert first == second
    assert ElementTree.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in first


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_names_a_font_for_readers_who_lack_its_own(name: str) -> None:
    assert re.findall(rb'font-family="([^"]*)"', draw(name, figures_of())) == [b"DejaVu Sans, Verdana, sans-serif"]


def test_a_report_has_at_most_three_figures_and_a_text_for_each() -> None:
    value = report()
    assert list(value.figures) == list(value.figure_texts) == ["gpu_use", "gpu_memory", "gpu_heatmap"]
    assert value.figure_texts["gpu_use"] == "GPU use over the run: mean 22.0 %, single GPUs between 0 % and 88 %."
    assert set(FIGURES) == set(value.figures)


def test_one_gpu_has_no_heatmap_and_no_timeline_no_figure_over_time() -> None:
    alone = report([gpu(0)])
    assert alone.figures == ("gpu_use", "gpu_memory")
    assert re.fullmatch(
        r"GPU use over the run: mean [\d.]+ %, between \d+ % and \d+ %\.", alone.figure_texts["gpu_use"]
    )
    assert report([gpu(0, timeline=None), gpu(1, timeline=None)]).figures == ("gpu_memory",)
    assert report([gpu(0, timeline=None, peak_mem_gb=None)]).figures == ()


def test_gaps_are_drawn_as_gaps() -> None:
    whole = {"step_s": 60.0, "util": [50.0, 50.0, 50.0, 50.0], "mem_gb": []}
    holed = {"step_s": 60.0, "util": [50.0, None, None, 50.0], "mem_gb": []}
    zeroed = {"step_s": 60.0, "util": [50.0, 0.0, 0.0, 50.0], "mem_gb": []}
    pictures = {draw("gpu_use", figures_of([gpu(0, timeline=timeline)])) for timeline in (whole, holed, zeroed)}
    assert len(pictures) == 3


def test_a_part_that_was_not_measured_is_hatched_in_the_heatmap() -> None:
    # Printed without colours its grey would be that of a busy GPU.
    whole, holed = [50.0, 50.0, 50.0, 50.0], [50.0, None, None, 50.0]
    pictures = {}
    for util in (whole, holed):
        timeline = {"step_s": 60.0, "util": util, "mem_gb": []}
        pictures[None in util] = draw("gpu_heatmap", figures_of([gpu(index, timeline=timeline) for index in range(2)]))
    assert b"<pattern" in pictures[True]
    assert b"<pattern" not in pictures[False]


def test_forty_thousand_gpus_are_still_a_small_picture() -> None:
    gpus = 40_000
    util = np.tile(np.linspace(0, 100, 240)[:, None], (1, gpus))
    util[:, 7] = np.nan
    data = FigureData(
        labels=tuple(f"nid{index // 8:06d}:{index % 8}" for index in range(gpus)),
        node_index=np.arange(gpus) // 8,
        series=JobSeries(360.0, util, util / 2),
        peak_mem_gb=np.full(gpus, 40.0),
        mem_total_gb=np.full(gpus, 64.0),
        nodes=tuple(f"nid{node:06d}" for node in range(gpus // 8)),
    )
    sizes = {name: len(draw(name, data)) for name in FIGURES}
    assert max(sizes.values()) < 500_000, sizes


def test_an_unknown_figure_is_an_error() -> None:
    with pytest.raises(KeyError):
        draw("gpu_temperature", figures_of())


def test_past_a_hundred_and_twenty_eight_gpus_a_row_is_a_node() -> None:
    assert b"16 nodes" not in draw("gpu_heatmap", of_nodes(16))
    assert b"17 nodes, mean of GPUs" in draw("gpu_heatmap", of_nodes(17))


def of_nodes(nodes: int) -> FigureData:
    gpus = nodes * 8
    util = np.full((30, gpus), 50.0)
    return FigureData(
        labels=tuple(f"nid{index // 8:06d}:{index % 8}" for index in range(gpus)),
        node_index=np.arange(gpus) // 8,
        series=JobSeries(60.0, util, util),
        peak_mem_gb=np.full(gpus, 40.0),
        mem_total_gb=np.full(gpus, 64.0),
        nodes=tuple(f"nid{node:06d}" for node in range(nodes)),
    )


def test_the_row_of_a_node_is_the_mean_of_what_was_measured() -> None:
    data = of_nodes(17)
    data.series.util[:, 8] = np.nan
    measured = draw("gpu_heatmap", data)
    data.series.util[:, 8] = 50.0
    assert draw("gpu_heatmap", data) == measured
    data.series.util[:, 8:16] = np.nan
    assert draw("gpu_heatmap", data) != measured


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_may_stand_on_a_page_with_a_strict_content_policy_beside_others(name: str) -> None:
    svg = draw(name, figures_of()).decode()
    assert "style" not in svg
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert all(each.startswith(f"{name}-") for each in ids)
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg))
    assert {first or second for first, second in used} <= set(ids)


def test_labels_are_text_that_can_be_selected() -> None:
    texts = [element.text for element in ElementTree.fromstring(draw("gpu_use", figures_of())).iter() if element.text]
    assert "GPU use (%)" in texts
    assert "least to most used" in texts


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_for_a_phone_is_narrower_and_one_for_the_dark_has_no_white(name: str) -> None:
    assert b'viewBox="0 0 302.4 208.8"' in draw(name, figures_of(), "narrow")
    light, dark = draw(name, figures_of()), draw(name, figures_of(), is_dark=True)
    assert b"#ffffff" in light
    assert b"#ffffff" not in dark
    assert len(light) == len(dark)
