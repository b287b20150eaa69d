"""The arithmetic of `bench.storage`: a year of LUMI from the bytes of a job and of a node summary."""

from __future__ import annotations

from bench.storage import year


def test_a_year_and_what_is_kept_follow_from_the_sizes() -> None:
    # 4 kB x 2 million and 5 kB x 6 million. Kept: 8 GB x 1,100 / 365 days, and 6 million a year of 400 days at 5 kB and
    # 700 days at 1 kB: 6e6 x (2e6 + 0.7e6) / 365.
    assert [*year(4000, 5000, 1000)] == [
        "a year of LUMI: 8 GB of jobs, 30 GB of node summaries, 38 GB in all",
        "kept for 1,100 days, series for 400: 24 GB of jobs, 44 GB of node summaries, 68 GB in all",
        "ten times as much: 685 GB",
    ]
