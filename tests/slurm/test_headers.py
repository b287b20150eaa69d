"""Made-up headers and values, read by a real Slurm and by us."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.wire.sbatch.as_slurm import is_accepted, slurm_options
from tests.wire.sbatch.form_cases import CASES
from tests.wire.sbatch.headers import Header, headers
from tests.wire.sbatch.slurm_reading import SlurmReading, without_forms
from wire.sbatch.reading import read_script
from wire.sbatch.table import version_of

pytestmark = pytest.mark.slurm

COUNT, SEED = 200, 2026
ACCEPTED_MIN = 80
"""Enough of them are scripts that Slurm takes."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmReading]:
    reading = SlurmReading()
    try:
        reading.start()
        yield reading
    finally:
        reading.stop()


def test_two_hundred_headers_are_read_as_slurm_reads_them(slurm: SlurmReading) -> None:
    version = version_of(slurm.run("sbatch", "--version"))
    accepted, differing = 0, []
    asked = headers(COUNT, SEED)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(slurm.read, asked))
    for header, theirs in zip(asked, answers, strict=True):
        ours = read_script(header.script, header.environment, header.arguments, version)
        accepted += theirs.is_accepted
        options = [without_forms(each) for each in slurm_options(ours)]
        if (is_accepted(ours), options) != (theirs.is_accepted, theirs.options):
            differing.append((header, theirs, is_accepted(ours), options, ours.refusals))
    assert differing == []
    assert accepted >= ACCEPTED_MIN


def test_values_with_a_form_of_their_own_are_taken_and_refused_as_slurm_does(slurm: SlurmReading) -> None:
    asked = [
        (option, value, is_accepted)
        for option, cases in CASES.items()
        for values, is_accepted in zip(cases[:2], (True, False), strict=True)
        for value in values
    ]
    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda each: slurm.read(Header(b"#!/bin/sh\n", {}, [f"--{each[0]}={each[1]}"])), asked)
        found = [(*each[:2], answer.is_accepted) for each, answer in zip(asked, answers, strict=True)]
    assert found == asked


@pytest.mark.parametrize(
    "text", ["-5", "-0", "-24856", "99999999999", "71582789", "24855-4", "0:4294967295", "9" * 5000]
)
def test_a_time_beyond_its_numbers_is_what_slurm_makes_of_it(slurm: SlurmReading, text: str) -> None:
    theirs = slurm.read(Header(b"#!/bin/sh\n", {}, [f"--time={text}"]))
    assert theirs.options == slurm_options(read_script("#!/bin/sh\n", None, [f"--time={text}"]))
