"""Two hundred made-up headers, read by a real Slurm and by us."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from collector.cli.sbatch.reading import read_script
from collector.cli.sbatch.table import version_of
from tests.collector.cli.sbatch.as_slurm import is_accepted, slurm_options
from tests.collector.cli.sbatch.headers import headers
from tests.collector.cli.sbatch.slurm_reading import SlurmReading
from tests.parts import missing
from tests.slurm.cluster import is_possible

pytestmark = pytest.mark.slurm

COUNT, SEED = 200, 2026
ACCEPTED_MIN = 80
"""Enough of them are scripts that Slurm takes."""


@pytest.fixture
def slurm() -> Iterator[SlurmReading]:
    if not is_possible():
        missing("Slurm (its daemons and the right to start them)")
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
        if (is_accepted(ours), slurm_options(ours)) != (theirs.is_accepted, theirs.options):
            differing.append((header, theirs, is_accepted(ours), slurm_options(ours), ours.refusals))
    assert differing == []
    assert accepted >= ACCEPTED_MIN
