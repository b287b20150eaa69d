"""All situations of running jobs, read from their TOML: own ones, and two examinations by people who knew no rule.

Nothing was tuned on the first examination until its first score: of 47 words that `early-2` sent 42 were right. The
rules of `early-3` were made safer after it, so that its runs are no unseen ones any more. The second is by an author
who had read neither the rules, their limits nor the first one. No two situations have the same name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from cases.drawing import Described, expanded
from cases.early.cutting import Host
from cases.early.situation import Progress, Situation, expect
from cases.readings import Node
from cases.shapes import second, situations
from cases.shapes.logged import Logged
from cases.shapes.situations import HOUR_S, STEP_S, Gpus, HostSide

FOLDER = Path(__file__).resolve().parent / "situations"
OWN_IN_ORDER = "sessions idle unused spinning host_memory gpu_memory time_limit cpu_only".split()
CODES_IN_ORDER = (
    "all_gpus_idle cpu_only some_gpus_unused spinning gpu_memory_full host_memory_filling limit_too_short"
).split()


class Told(Described, frozen=True):
    """A situation as its TOML tells it: it starts at an `hour` (UTC) of 19 November 2026, a Thursday, and lasts as long
    as its first node, or `lasts_h`. `host` is that of every node, `hosts` are one by one; neither: no host was read.
    `earlier` are (hours, GPUs). `words` and `corrected` as `expect` reads them.
    """

    name: str
    story: str
    words: str
    nodes: tuple[Gpus, ...]
    host: dict[str, Any] | None = None
    hosts: tuple[dict[str, Any], ...] = ()
    job: str = "train"
    partition: str = ""
    limit_h: float = 24.0
    state: str = "COMPLETED"
    hour: int = 6
    lasts_h: float | None = None
    earlier: tuple[tuple[float, int], ...] = ()
    progress: Logged | None = None
    corrected: str = ""
    correction: str = ""

    @property
    def sides(self) -> list[dict[str, Any]]:
        """What is told of each node's host."""
        return list(self.hosts) or [self.host or {"is_read": False}] * len(self.nodes)


def told(path: str) -> Iterator[Told]:
    """The situations of one file, in its order."""
    for table in tomllib.loads((FOLDER / f"{path}.toml").read_text())["situation"]:
        yield msgspec.convert(expanded(table), Told)


def clean(path: str) -> Iterator[Situation]:
    """Situations whose noise is the one of their nodes alone."""
    for one in told(path):
        nodes = tuple(situations.node(gpus) for gpus in one.nodes)
        hosts = tuple(situations.host(msgspec.convert(side, HostSide)) for side in one.sides)
        yield _situation(one, nodes, hosts, one.lasts_h, "standard-g")


def rough(path: str) -> Iterator[Situation]:
    """Situations of the second examination."""
    for one in told(path):
        drawn = [situations.node(gpus) for gpus in one.nodes]
        elapsed_h = one.lasts_h or drawn[0].util.shape[0] * STEP_S / HOUR_S
        nodes = tuple(second.rough(node, f"{one.name}{number}") for number, node in enumerate(drawn))
        hosts = tuple(
            second.host(msgspec.convert(side, second.Side), gpus.gpus, elapsed_h, f"{one.name}{number}")
            for number, (side, gpus) in enumerate(zip(one.sides, one.nodes, strict=True))
        )
        count = sum(gpus.gpus for gpus in one.nodes)
        yield _situation(one, nodes, hosts, elapsed_h, "small-g" if count < 8 else "standard-g")


def _situation(
    one: Told, nodes: tuple[Node, ...], hosts: tuple[Host | None, ...], lasts_h: float | None, partition: str
) -> Situation:
    steps = one.progress
    return Situation(
        name=one.name,
        story=one.story,
        job_name=one.job,
        partition=one.partition or partition,
        gpus=sum(node.util.shape[1] for node in nodes),
        nodes=nodes,
        hosts=hosts,
        elapsed_s=lasts_h * HOUR_S if lasts_h else nodes[0].util.shape[0] * STEP_S,
        time_limit_s=one.limit_h * HOUR_S,
        state=one.state,
        started_at=datetime(2026, 11, 19, one.hour, tzinfo=UTC),
        expected=expect(one.words),
        earlier_runs=tuple((hours * HOUR_S, count) for hours, count in one.earlier),
        progress=Progress(steps.points, steps.total, steps.parameter) if steps else None,
        corrected=expect(one.corrected) if one.corrected else {},
        correction=one.correction,
    )


@cache
def own_situations() -> tuple[Situation, ...]:
    return tuple(one for theme in OWN_IN_ORDER for one in clean(f"own/{theme}"))


@cache
def first_examination() -> tuple[Situation, ...]:
    return tuple(one for theme in ("healthy", "due", "seeming") for one in clean(f"first/{theme}"))


@cache
def problems() -> tuple[Situation, ...]:
    """Those of the second examination in which a word is due."""
    return tuple(one for code in CODES_IN_ORDER for one in rough(f"second/due/{code}"))


@cache
def seeming() -> dict[str, tuple[Situation, ...]]:
    """What only looks as if a word of that code were due; some of these are due another word."""
    return {code: tuple(rough(f"second/seeming/{code}")) for code in CODES_IN_ORDER}


@cache
def healthy() -> tuple[Situation, ...]:
    return tuple(one for theme in ("training", "science", "serving") for one in rough(f"second/healthy/{theme}"))


def second_examination() -> tuple[Situation, ...]:
    return (*problems(), *(one for several in seeming().values() for one in several), *healthy())
