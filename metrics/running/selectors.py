"""The recent use of runs that go on: of one run by node, and which runs there are."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Max, Sum
from numpy.typing import NDArray

from metrics.models import RunningNode
from metrics.selectors import Key

COLUMNS = ("node", "started_at", "ended_at", "received_at", "recent_s", "figures")

MemoryCourse = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of one node: seconds from its start, the middle of what each bucket covers, and memory in 2^30 bytes; no gaps."""


@dataclass(frozen=True)
class RunningNodes:
    """The nodes of a run that have sent what is not final yet, by name; none where nothing arrived.

    For N nodes: `recent_s` and `busy_cores` are `(N,)`, NaN where not measured; `busy_cores` and the watts of
    `power_w`, by node and number of the GPU, are means over the node's `recent_s`; `memory` is without cached files.
    """

    nodes: tuple[str, ...]
    started_at: tuple[datetime | None, ...]
    measured_until: tuple[datetime | None, ...]
    received_at: tuple[datetime, ...]
    recent_s: NDArray[np.float64]
    busy_cores: NDArray[np.float64]
    memory: tuple[MemoryCourse, ...]
    power_w: dict[tuple[str, int], float]


class RunningState(NamedTuple):
    """A run with nodes that go on: how many, a revision that each further summary of them increases, and the times of
    the last one: when it arrived, and until when was measured."""

    nodes: int
    revision: int
    received_at: datetime
    measured_until: datetime | None


def running_nodes(key: Key) -> RunningNodes:
    """The recent use of one run `(cluster, job_id, attempt)` by node, from the site's collectors."""
    cluster, job_id, attempt = key
    of_run = RunningNode.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt)
    rows = list(of_run.order_by("node").values_list(*COLUMNS))
    nodes, started, until, received, recent_s, figures = zip(*rows, strict=True) if rows else ((),) * 6
    return RunningNodes(
        nodes=nodes,
        started_at=started,
        measured_until=until,
        received_at=received,
        recent_s=np.array(recent_s, dtype=np.float64),
        busy_cores=np.array([known.get("busy_cores") for known in figures], dtype=np.float64),
        memory=tuple(_memory(*node) for node in zip(figures, started, until, strict=True)),
        power_w={
            (node, int(gpu_id)): power_w
            for node, known in zip(nodes, figures, strict=True)
            for gpu_id, power_w in known.get("power_w", {}).items()
        },
    )


def running_keys(cluster: str, job_ids: Collection[int]) -> dict[Key, RunningState]:
    """Which runs of these jobs have nodes that go on: one query; a run without any is absent."""
    rows = (
        RunningNode.objects.filter(cluster=cluster, job_id__in=job_ids)
        .values_list("job_id", "attempt")
        .annotate(nodes=Count("pk"), revision=Sum("sequence"), received=Max("received_at"), until=Max("ended_at"))
    )
    return {(cluster, job_id, attempt): RunningState(*state) for job_id, attempt, *state in rows}


def _memory(figures: dict[str, Any], started_at: datetime | None, until: datetime | None) -> MemoryCourse:
    """The last bucket of a run that goes on is cut where measuring ended."""
    points = np.array(tuple(figures.get("memory_gb", ())), dtype=np.float64)
    edges_s = np.arange(points.size + 1, dtype=np.float64) * figures.get("memory_step_s", 0.0)
    if points.size and started_at and until:
        edges_s[-1] = np.clip((until - started_at).total_seconds(), edges_s[-2], edges_s[-1])
    is_known = ~np.isnan(points)
    return ((edges_s[:-1] + edges_s[1:]) / 2)[is_known], points[is_known]
