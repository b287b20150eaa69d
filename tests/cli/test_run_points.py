"""Which points are read in a line: what the rule of docs/logging-runs.md states, and nothing that is in doubt."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.run_points import GAP, LINE_BYTES_MAX, NAMES_MAX, Reader, number, values_of

AT = 1_763_634_000.0


def read(*parts: bytes) -> list[tuple[str, object, int]]:
    reader = Reader(lambda: AT)
    lines = [line for part in parts for line in reader.points(part)] + list(reader.last())
    return [(point["name"], point["value"], point["step"]) for line in lines for point in line]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            b'{"step": 5, "loss": 0.12, "net": "vit", "ok": true, "of": null, "deep": {"a": 1}}',
            {"step": 5, "loss": 0.12},
        ),
        (b"  {'loss': 1.5, 'lr': 1e-05, 'name': 'x'}  ", {"loss": 1.5, "lr": 1e-05}),
        (b"epoch 3: step=5 loss=0.12, lr=1e-4", {"step": 5, "loss": 0.12, "lr": 1e-4}),
        (b"loss=0.12,acc=.9;n=-3", {"loss": 0.12, "acc": 0.9, "n": -3}),
        (b" 30%|###  | 3/10 [00:01<00:02, 3.1it/s, loss=0.5, val/acc=7]", {"loss": 0.5, "val/acc": 7}),
        (b"loss=inf low=-Infinity", {"loss": math.inf, "low": -math.inf}),
        # A number with commas may be 1.234 or 1234; with a unit or a percentage it is another number.
        (b"n=1,234 loss=0,5 gpu=90% t=3s f=1/3 v=1.2.3 h=0x10", {}),
        (b"train.py --lr=0.1 -n=3 a:b=1 PATH=/usr x==1 =5 loss=", {}),
        (b"[1, 2]", {}),
        (b'{"loss": 0.1', {}),
        (b'{"loss": 1' + b"0" * 400 + b"}", {}),
        (b"\xff\xfe=1 \x00loss=2", {}),
        (b"{" * 5000 + b"}", {}),
        (b"", {}),
    ],
)
def test_the_numbers_in_a_line(line: bytes, found: dict[str, float]) -> None:
    assert values_of(line) == found


def test_nan_is_a_value() -> None:
    assert math.isnan(values_of(b'{"loss": NaN}')["loss"])
    assert read(b"loss=nan\nloss=-inf\nloss=Infinity\n") == [
        ("loss", "NaN", 0),
        ("loss", "-Infinity", 1),
        ("loss", "Infinity", 2),
    ]


def test_the_step_is_that_of_the_line_or_else_counted_for_each_metric() -> None:
    text = b'loss=1\nacc=0.5 loss=2\nstep=70 loss=3\n{"global_step": 80, "loss": 4}\nstep=1.5 loss=5\nloss=6'
    assert read(text) == [
        ("loss", 1.0, 0),
        ("acc", 0.5, 0),
        ("loss", 2.0, 1),
        ("loss", 3.0, 70),
        ("loss", 4.0, 80),
        # Half a step is none: this is the fifth value.
        ("loss", 5.0, 4),
        ("loss", 6.0, 5),
    ]


@given(cuts=st.lists(st.integers(0, 60), max_size=8))
def test_lines_may_come_in_any_parts(cuts: list[int]) -> None:
    text = b'plain\rloss=1.25\r\n{"a": 2}\nno = point\nacc=0.5 end\nx=7'
    places = [0, *sorted(cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(places)]
    assert read(*parts) == [("loss", 1.25, 0), ("a", 2.0, 0), ("acc", 0.5, 0), ("x", 7.0, 0)]


def test_a_very_long_line_is_left_out_and_the_next_one_is_read() -> None:
    long = b"x" * LINE_BYTES_MAX + b" loss=1"
    assert read(long + b"\nloss=2\n") == [("loss", 2.0, 0)]
    assert read(*(long[at : at + 1000] for at in range(0, len(long), 1000)), b"9\nloss=2") == [("loss", 2.0, 0)]


def test_lines_that_were_cut_where_output_was_left_out_are_not_read() -> None:
    """`loss=0.123` of which only `loss=0.1` is left would be another value."""
    assert read(b"acc=1\nloss=0.1", GAP, b"23 lr=5\nloss=0.5\n") == [("acc", 1.0, 0), ("loss", 0.5, 0)]


def test_metrics_beyond_the_bound_are_counted() -> None:
    reader = Reader(lambda: AT)
    text = b"".join(b"m%d=1\n" % place for place in range(NAMES_MAX + 5)) + b"m0=2\n"
    points = [point for line in reader.points(text) for point in line]
    assert (len(points), reader.unnamed) == (NAMES_MAX + 1, 5)
    assert points[-1] == {"name": "m0", "value": 2.0, "step": 1, "time": AT}


@pytest.mark.parametrize("written", ["", "1,5", "1_000", "0x1", "٣", "nan(1)", "1" * 500, "\udcff"])
def test_what_is_no_number(written: str) -> None:
    assert number(written) is None
