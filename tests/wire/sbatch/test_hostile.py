"""Hostile scripts: any bytes are read without an error, and in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.processes import patience
from wire.sbatch.reading import encoded, read_script
from wire.sbatch.rewriting import Change, rewritten
from wire.sbatch.sharing import shared

SECONDS_MAX = 5.0
"""Many times what any of them takes on one core (at most 1.5 s)."""

HUGE = {
    "one word of a megabyte": b"#SBATCH -J " + b"a" * 1_000_000,
    "quotes": b"#SBATCH -J " + b'"a"' * 333_333,
    "backslashes in an open quote": b'#SBATCH -J "' + b"\\a" * 500_000,
    "options on one line": b"#SBATCH " + b"-n1 " * 100_000,
    "a hundred thousand directives": b"#SBATCH --gpus=2\n" * 100_000,
    "components": b"#SBATCH hetjob\n" * 100_000,
    "late directives": b"x\n" + b"#SBATCH --gpus=2\n" * 100_000,
    "PBS lines in components": b"#PBS -l nodes=1\n#SBATCH hetjob\n" * 30_000,
    "letters": b"#SBATCH -" + b"s" * 1_000_000,
    "blank lines": b"\n" * 1_000_000,
    "unknown options": b"#SBATCH --zzzz=2\n" * 100_000,
    "array": b"#SBATCH -a " + b"0-9999999," * 50_000 + b"1",
    "a signal of many digits": b"#SBATCH --signal=" + b"9" * 5_000,
    "as many tasks of each GPU as are none in 32 bits": b"#SBATCH --ntasks-per-gpu=4294967296\n",
    "more than sbatch takes": b"\n" * 4_200_000,
}


@pytest.mark.parametrize("case", HUGE)
def test_a_huge_script_takes_bounded_time(case: str) -> None:
    start = time.monotonic()
    script = read_script(b"#!/bin/sh\n" + HUGE[case])
    shared(script)
    assert time.monotonic() - start < patience(SECONDS_MAX)
    assert len(script.warnings) <= 100
    assert len(script.refusals) <= 100
    assert all(len(remark.sentence) < 500 for remark in script.warnings + script.refusals)


@settings(max_examples=40, deadline=None)
@given(
    st.binary(max_size=60) | st.text("#SBATCHPU -=:n'\"\\\n\r\0\t1gG,%").map(str.encode),
    st.lists(st.text(max_size=8), max_size=3),
    st.text(max_size=5),
)
def test_any_bytes_are_read_and_kept(body: bytes, arguments: list[str], value: str) -> None:
    text = b"#!/bin/sh\n" + body
    script = read_script(text, {"SBATCH_GPUS": value, "SBATCH_REQUEUE": value}, arguments)
    shared(script)
    assert encoded(script.text) == text
    assert rewritten(script, 0, []).script == text
    rewritten(script, 0, [Change("--gpus", "", "2"), Change("--exclusive", "", ""), Change("--mem", "", value)])


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    text = b"#!/bin/sh\n#SBATCH -J \xff\xfe --gpus=8\n\x80\n"
    done = rewritten(read_script(text), 0, [Change("--gpus", "8", "2")])
    assert done == (b"#!/bin/sh\n#SBATCH -J \xff\xfe --gpus=2\n\x80\n", ())


def test_a_remark_holds_no_terminal_sequence() -> None:
    script = read_script("#!/bin/sh\n#SBATCH --\x1b[2Jx -t \x9b1h\u202e\n#SBATCH foo\x07\n")
    assert [each.sentence.isprintable() for each in script.refusals] == [True, True, True]
    assert "\x1b" not in str(script.refusals)
