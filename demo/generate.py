"""Sample jobs as the epilog and the collectors would send them: the same seed gives the same jobs to the last digit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from demo.archetypes import Archetype, Expected
from demo.library import LIBRARY
from demo.payloads import clock_of, cpu_summary, node_summary, readings_of
from demo.people import sample_people
from demo.records import cores_per_node, job_record, memory_per_node_gb
from demo.schedule import ARRAY_TASK, REQUEUED, REQUEUED_AGAIN, Bundle, bundles

FIRST_JOB_ID = 17_300_000  # LUMI's job ids have eight digits in 2026
REQUEUE_TIME = timedelta(minutes=2)
ARRAY_PACE = timedelta(seconds=90)


@dataclass(frozen=True)
class SampleJob:
    """One run: its `job-record/1`, its `node-summary/1` payloads, and what the analysis should say of them."""

    kind: str
    expected: Expected
    record: dict[str, Any]
    summaries: list[dict[str, Any]]

    def to_json(self) -> bytes:
        """Record and summaries as one JSON list, the record first."""
        return json.dumps([self.record, *self.summaries]).encode()


def sample_jobs(
    *, seed: int, jobs: int = 320, users: int = 15, projects: int = 5, until: datetime, days: int = 90
) -> Iterator[SampleJob]:
    """`jobs` runs of the `days` before `until` (aware), in the order in which they, or the last of a bundle, ended.

    From 60 jobs on every kind is there. Raises ValueError when `until` is naive or there are fewer users than projects.
    """
    people = sample_people(seed=seed, users=users, projects=projects)
    job_id = FIRST_JOB_ID
    for index, bundle in enumerate(bundles(people, seed=seed, jobs=jobs, until=until, days=days)):
        made = list(_bundle_jobs(bundle, job_id, (seed, index)))
        yield from made
        job_id = made[-1].record["job_id"] + 1


def make_job(
    kind: str,
    *,
    job_id: int,
    user: str,
    project: str,
    ended_at: datetime,
    rng: np.random.Generator,
    **overrides: Any,
) -> SampleJob:
    """One run of a kind in `library.LIBRARY`; `overrides` replace fields of its job record.

    The summaries follow the record's cluster, job id, attempt, nodes and times, overridden or not. Raises KeyError for
    an unknown kind or field.
    """
    shape = LIBRARY[kind]
    record = job_record(shape, job_id=job_id, user=user, project=project, ended_at=ended_at, rng=rng)
    if unknown := overrides.keys() - record.keys():
        raise KeyError(f"not in a job record: {', '.join(sorted(unknown))}")
    record |= overrides
    return SampleJob(kind, shape.expected, record, _summaries(shape, record, rng))


def _bundle_jobs(bundle: Bundle, job_id: int, seed: tuple[int, int]) -> Iterator[SampleJob]:
    """The runs of one bundle, each with a generator of its own; all of them share one request."""
    if bundle.kind == REQUEUED and bundle.runs == 2:
        again = _bundle_job(bundle, REQUEUED_AGAIN, job_id, bundle.ended_at, (*seed, 1))
        failed_at = datetime.fromisoformat(again.record["submitted_at"]) - REQUEUE_TIME
        yield _bundle_job(bundle, REQUEUED, job_id, failed_at, (*seed, 0), request=again.record["request"])
        yield again
    elif bundle.kind == ARRAY_TASK:
        yield from _array_tasks(bundle, job_id, seed)
    else:
        yield _bundle_job(bundle, bundle.kind, job_id, bundle.ended_at, seed)


def _array_tasks(bundle: Bundle, job_id: int, seed: tuple[int, int]) -> Iterator[SampleJob]:
    shared: dict[str, Any] = {"array_job_id": job_id}
    for task in range(bundle.runs):
        ended_at = bundle.ended_at - (bundle.runs - 1 - task) * ARRAY_PACE
        made = _bundle_job(bundle, ARRAY_TASK, job_id + task, ended_at, (*seed, task), array_task_id=task, **shared)
        shared["request"] = made.record["request"]
        yield made


def _bundle_job(
    bundle: Bundle, kind: str, job_id: int, ended_at: datetime, seed: tuple[int, ...], **overrides: Any
) -> SampleJob:
    name = {"job_name": bundle.job_name} if bundle.job_name else {}
    return make_job(
        kind,
        job_id=job_id,
        user=bundle.person.username,
        project=bundle.person.project,
        ended_at=ended_at,
        rng=np.random.default_rng(seed),
        **name,
        **overrides,
    )


def _summaries(shape: Archetype, record: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    """One summary of each node that did not stay silent; the last ones in the list of nodes are silent."""
    nodes = record["nodes"][: max(len(record["nodes"]) - shape.silent_nodes, 0)]
    if not nodes or record["started_at"] is None:
        return []
    drawn = min(shape.drawn_nodes or len(nodes), len(nodes))
    clock = clock_of(_elapsed_s(record))
    util = shape.curve(rng, clock.instants, drawn * shape.gpus)
    gpu_ids = _gpu_ids(shape.gpus, rng)
    made = [
        node_summary(
            record,
            nodes[index],
            readings_of(clock, util[:, index * shape.gpus : (index + 1) * shape.gpus], shape.peak_mem_gb, rng),
            gpu_ids=gpu_ids,
            unreadable=shape.unreadable_gpus if index == 0 else 0,
            cpu=_host_side(shape, clock.elapsed_s, rng),
            rng=rng,
            full_power_w=shape.full_power_w,
        )
        for index in range(drawn)
    ]
    for summary in made:
        _disturb(shape, summary["gpus"], rng)
    return _in_turns(made, nodes)


def _in_turns(made: list[dict[str, Any]], nodes: list[str]) -> list[dict[str, Any]]:
    """A summary for each node from fewer that were drawn: the last one last, the others in turns before it."""
    *others, last = made
    in_turns = [others[index % len(others)] for index in range(len(nodes) - 1)] if others else []
    return [summary | {"node": node} for summary, node in zip([*in_turns, last], nodes, strict=True)]


def _disturb(shape: Archetype, gpus: list[dict[str, Any]], rng: np.random.Generator) -> None:
    """Throttling, gaps and power that nobody could read, where the archetype has them."""
    for gpu in gpus:
        if shape.throttled_fraction != (0.0, 0.0):
            gpu["throttled_s"] = round(gpu["measured_s"] * float(rng.uniform(*shape.throttled_fraction)), 1)
        if not shape.tells_power:
            for name in ("power_avg_w", "power_peak_w", "power_cap_w", "energy_j"):
                gpu.pop(name, None)
            gpu["missing"] = gpu["missing"] | {"power": "unsupported"}
        if shape.gap is not None:
            gpu["timeline"]["util"] = with_gap(gpu["timeline"]["util"], shape.gap)


def with_gap(points: list[Any], gap: tuple[float, float]) -> list[Any]:
    """The points with null between these shares of the run.

    >>> with_gap([1, 2, 3, 4], (0.25, 0.75))
    [1, None, None, 4]
    """
    first, last = (round(share * len(points)) for share in gap)
    return [None if first <= index < last else point for index, point in enumerate(points)]


def _host_side(shape: Archetype, elapsed_s: int, rng: np.random.Generator) -> dict[str, Any]:
    return cpu_summary(
        shape.host,
        cores=cores_per_node(shape),
        ranks=shape.ranks_per_node,
        memory_gb=memory_per_node_gb(shape),
        elapsed_s=elapsed_s,
        rng=rng,
    )


def _elapsed_s(record: dict[str, Any]) -> int:
    elapsed = datetime.fromisoformat(record["ended_at"]) - datetime.fromisoformat(record["started_at"])
    return max(elapsed // timedelta(seconds=1), 1)


def _gpu_ids(gpus: int, rng: np.random.Generator) -> range:
    """Neighbouring GPUs of one node, whole modules when there is more than one."""
    first = int(rng.integers(8)) if gpus == 1 else 2 * int(rng.integers((8 - gpus) // 2 + 1))
    return range(first, first + gpus)
