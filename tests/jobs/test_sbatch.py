"""How one changed option reads, and time limits in Slurm's spelling."""

from __future__ import annotations

from jobs.sbatch import OptionChange, walltime_text


def test_an_option_left_out_and_a_walltime() -> None:
    assert str(OptionChange("--exclusive", "user", "")) == "--exclusive=user -> (leave out)"
    assert (walltime_text(5400), walltime_text(30 * 3600)) == ("01:30:00", "1-06:00:00")
