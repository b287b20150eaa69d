"""Situations of training runs beside the use of their GPUs, with what must, must not or may be said of their progress.

True: must be said. False: must not be said. None ("either" in the data): either is right, because what was measured
does not decide it (the story says why). `power` is the mean over the busy time of the whole run, as a job's record has
it, and was computed from the story: so a hang is only demanded where it lasted long enough to pull that mean below
125 W. Without power (NaN in the data), with power of computing (200 W and more), with GPUs that were idle or not
measured after the last step, or in a job that ended by itself (COMPLETED), a hang is never demanded.

`hang_since_s` goes from a minute before the last point to two logging intervals and a minute after it. `nan_since_step`
goes from the step after the last good point to the first bad point. `paused_share` is the true share, give or take a
quarter. Ranges that stand beside None are what must be met if it is said all the same.
Use is given in bins as a collector would keep it.
"""

from __future__ import annotations

import math
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from cases.drawing import Described, expanded
from cases.shapes import progress, progress_own
from cases.shapes.progress import Points, Use

FOLDER = Path(__file__).resolve().parent
AUTHORS = {
    "one": "hangs doubtful healthy not_numbers pauses",
    "other": "hangs doubtful healthy healthy_odd not_numbers pauses",
}
WORK_W = 305.0
"""Watts of a die of an MI250X that computes; one that spins in a waiting kernel draws 98."""
Said = bool | Literal["either"]


@dataclass(frozen=True)
class Situation:
    """`series` by name: (step, seconds since the job's start, value)."""

    name: str
    story: str
    elapsed_s: float
    state: str
    gpus: int
    use: Use
    power: float | None
    series: dict[str, Points]
    hang: bool | None
    hang_since_s: tuple[float, float] | None
    loss_is_nan: bool | None
    nan_since_step: tuple[int, int] | None
    step_pauses: bool | None
    paused_share: tuple[float, float] | None


class Told(Described, frozen=True):
    """A situation as its TOML tells it; its seed is its name."""

    name: str
    story: str
    elapsed_s: float
    state: str = "COMPLETED"
    gpus: int = 8
    power: float = WORK_W
    hang: Said = False
    hang_since_s: tuple[float, float] | None = None
    loss_is_nan: Said = False
    nan_since_step: tuple[int, int] | None = None
    step_pauses: Said = False
    paused_share: tuple[float, float] | None = None
    draw: dict[str, Any] = {}
    joined: dict[str, tuple[str, ...]] = {}
    own: str = ""

    def situation(self) -> Situation:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        if self.own:
            use, series = progress_own.RUNS[self.own](rng)
        else:
            use, series = progress.drawn(rng, self.elapsed_s, self.draw, self.joined)
        return Situation(
            name=self.name,
            story=self.story,
            elapsed_s=self.elapsed_s,
            state=self.state,
            gpus=self.gpus,
            use=use,
            power=None if math.isnan(self.power) else self.power,
            series={name: [(int(s), float(t), float(v)) for s, t, v in points] for name, points in series.items()},
            hang=_said(self.hang),
            hang_since_s=self.hang_since_s,
            loss_is_nan=_said(self.loss_is_nan),
            nan_since_step=self.nan_since_step,
            step_pauses=_said(self.step_pauses),
            paused_share=self.paused_share,
        )


def _said(told: Said) -> bool | None:
    return None if told == "either" else told


def situations(*authors: str) -> Iterator[Situation]:
    """The situations of these authors, or of all, drawn as they are asked for."""
    for author in authors or AUTHORS:
        for theme in AUTHORS[author].split():
            for table in tomllib.loads((FOLDER / author / f"{theme}.toml").read_text())["situation"]:
                yield msgspec.convert(expanded(table), Told).situation()


@dataclass(frozen=True)
class ScalingGroup:
    """Runs of one work at several numbers of GPUs. `measured`: may throughput be used rather than run times? None:
    either, or nothing to compare. `knee_gpus` are the most GPUs that still keep at least 70 % of the speed per GPU of
    the smallest; None: cannot be said, or either."""

    name: str
    story: str
    runs: list[ScalingRun]
    measured: bool | None
    knee_gpus: int | None
    reason: str


ScalingRun = tuple[int, float, float | None, float | None, float | None]
"""GPUs, run time in s, samples per second, steps per second, samples in a global batch; rates are of the whole run."""


def scaling_groups() -> Iterator[ScalingGroup]:
    for group in tomllib.loads((FOLDER / "scaling_groups.toml").read_text())["group"]:
        runs: list[ScalingRun] = [
            (run["gpus"], run["run_s"], run.get("samples_per_s"), run.get("steps_per_s"), run.get("batch"))
            for run in group["runs"]
        ]
        yield ScalingGroup(
            group["name"], group["story"], runs, group.get("measured"), group.get("knee_gpus"), group["reason"]
        )
