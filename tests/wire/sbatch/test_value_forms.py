"""Values with a form of their own: what Slurm always refuses is refused, and what is not decided is not vouched for."""

from __future__ import annotations

import time

import pytest

from tests.wire.sbatch.form_cases import CASES
from wire.sbatch.reading import read_script
from wire.sbatch.value_forms import FORMS, is_taken

BASH = "#!/bin/bash\n"


@pytest.mark.parametrize("option", FORMS)
def test_each_value_is_taken_or_refused_or_not_decided(option: str) -> None:
    for values, expected in zip(CASES[option], (True, False, None), strict=True):
        assert {value: is_taken(option, value) for value in values} == dict.fromkeys(values, expected)


@pytest.mark.parametrize("option", FORMS)
def test_what_is_read_is_refused_or_remarked_on(option: str) -> None:
    for values, refusals, warnings in zip(CASES[option], (0, 1, 0), (0, 0, 1), strict=True):
        for value in values:
            script = read_script(BASH, None, [f"--{option}={value}"])
            assert (len(script.refusals), len(script.warnings)) == (refusals, warnings), (value, script.refusals)


def test_a_variable_is_named() -> None:
    for name in "DISTRIBUTION MEM_BIND PROFILE GPU_BIND DELAY_BOOT".split():
        (refusal,) = read_script(BASH, {f"SBATCH_{name}": "x"}).refusals
        assert refusal.sentence.startswith(f"SBATCH_{name}=x is "), refusal


def test_what_a_later_line_replaces_is_refused_all_the_same_but_for_two_options() -> None:
    for option, refusals in (("begin", ["value"]), ("dependency", []), ("propagate", [])):
        good = CASES[option][0][0]
        script = read_script(f"{BASH}#SBATCH --{option}=foo\n#SBATCH --{option}={good}\n")
        assert [each.code for each in script.refusals] == refusals


def test_what_is_for_administrators_is_refused() -> None:
    script = read_script(f"{BASH}#SBATCH --uid=0\n#SBATCH --reboot\n")
    assert [each.sentence for each in script.refusals] == [
        "Line 2: --uid=0 is for administrators alone.",
        "Line 3: --reboot is for administrators alone.",
    ]


def test_a_hostile_value_takes_no_time() -> None:
    before = time.process_time()
    for option in FORMS:
        for part in ("now+1 ", "1:00", "0101", "T-", "block:", "1,", "0x1,", "today", "afterok:1", "*"):
            is_taken(option, part * 100_000 + "x")
            is_taken(option, (part * 200)[:199] + "!")
    assert time.process_time() - before < 2
