"""One table describes the numbers of a GPU; each other place that names them says the same."""

from __future__ import annotations

from dataclasses import fields

import msgspec
import pytest

from collector.summary import GPU_BOUNDS
from metrics.gpu_fields import GPU_FIELDS, GpuField
from metrics.packed_node import GPU_NUMBERS, WHOLE_NUMBERS
from metrics.payloads import GpuPayload
from metrics.series import GpuColumns
from portal.api.openapi import document
from portal.pages.job.hardware import GPU_COLUMNS

NAMES = [field.name for field in GPU_FIELDS]
NOT_OF_THE_RUN = {"pci_bus", "util_histogram_s", "timeline", "missing", "recent_power_avg_w"}
"""What is no number over the whole run; recent use is stored elsewhere (`metrics.running`)."""

SUFFIXES = {"%": "_util", "GiB": "_gb", "s": "_s", "MHz": "_mhz", "W": "_w", "J": "_j", "°C": "_c", "MB/s": "_mb_s"}
each_field = pytest.mark.parametrize("field", GPU_FIELDS, ids=lambda field: field.name)


def test_the_packed_columns_stay_where_they_are_stored() -> None:
    """Rows of years ago are read by these places: a new number comes at the end, and none moves."""
    assert GPU_NUMBERS[:20] == tuple(
        "gpu_id module_id avg_util p95_util peak_mem_gb avg_mem_gb mem_total_gb samples measured_s active_s idle_s"
        " gfx_clock_mhz mem_clock_mhz power_avg_w power_peak_w power_cap_w energy_j temperature_peak_c"
        " pcie_bandwidth_mb_s throttled_s".split()
    )
    assert {"gpu_id", "module_id", "samples"} == WHOLE_NUMBERS


def test_the_payload_has_these_numbers_and_no_other() -> None:
    assert {field.name for field in msgspec.structs.fields(GpuPayload)} - NOT_OF_THE_RUN == set(NAMES)


@each_field
def test_a_whole_number_is_decoded_as_one(field: GpuField) -> None:
    """1.5 is no count and no number of a GPU; whatever is measured may have a fraction."""
    given = {"gpu_id": 0, field.name: 1.5}
    if field.is_whole:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(given, GpuPayload)
    else:
        assert getattr(msgspec.convert(given, GpuPayload), field.name) == 1.5


@each_field
def test_the_unit_stands_in_the_name(field: GpuField) -> None:
    assert not field.unit or field.name.endswith(SUFFIXES[field.unit])


def test_what_is_judged_is_an_array_and_nothing_else_is() -> None:
    judged = {field.name for field in GPU_FIELDS if field.is_judged}
    assert {column.name for column in fields(GpuColumns)} - {"node_index", "histogram_s"} == judged


def test_the_collector_bounds_what_there_is() -> None:
    assert set(GPU_BOUNDS) <= set(NAMES)


def test_the_hardware_table_shows_arrays_that_there_are() -> None:
    assert set(GPU_COLUMNS) <= {field.name for field in GPU_FIELDS if field.is_judged}


@each_field
def test_the_description_of_the_api_says_the_meaning(field: GpuField) -> None:
    described = document()["components"]["schemas"]["GpuPayload"]["properties"][field.name]
    assert described["description"] == field.meaning
    assert described["description"].endswith(f", in {field.unit}") is bool(field.unit)
