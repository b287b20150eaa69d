"""The recent use of nodes whose run goes on: kept beside their summaries until the final one arrives."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import connection

from metrics.models import RunningNode
from metrics.nodes.services import KEY, Key
from metrics.payloads import NodePayload

FIGURES = ("sequence", "started_at", "ended_at", "received_at", "recent_s", "figures")


def follow_running(stored: Sequence[NodePayload], now: datetime) -> None:
    """Keep the recent use of these summaries of different nodes, and delete that of the nodes whose summary is final.

    Within the transaction that stored them, after them: who holds a summary's row alone touches this one. A final one
    may be among them that was known already: the run has ended.
    """
    rows = [_row(payload, now) for payload in sorted(stored, key=key_of) if not payload.final]
    if rows:
        RunningNode.objects.bulk_create(rows, update_conflicts=True, unique_fields=KEY, update_fields=FIGURES)
    _forget([key_of(payload) for payload in stored if payload.final])


def _forget(nodes: Iterable[Key]) -> None:
    """Delete these nodes in one statement."""
    keys = sorted(nodes)
    if not keys:
        return
    marks = ", ".join(["(%s, %s, %s, %s)"] * len(keys))
    table = RunningNode._meta.db_table
    with connection.cursor() as cursor:
        sql = f"DELETE FROM {table} WHERE ({', '.join(KEY)}) IN (VALUES {marks})"  # noqa: S608 (names of the model)
        cursor.execute(sql, [part for key in keys for part in key])


def key_of(payload: NodePayload) -> Key:
    """Of which run and node a summary is."""
    return payload.cluster, payload.job_id, payload.attempt, payload.node


def _row(payload: NodePayload, now: datetime) -> RunningNode:
    return RunningNode(
        **dict(zip(KEY, key_of(payload), strict=True)),
        sequence=payload.sequence,
        started_at=payload.started_at,
        ended_at=payload.ended_at,
        received_at=now,
        recent_s=payload.recent_s,
        figures=_figures(payload),
    )


def _figures(payload: NodePayload) -> dict[str, object]:
    """The columns of `RunningNode.figures` that were measured."""
    cpu = payload.cpu
    power_w = {str(gpu.gpu_id): gpu.recent_power_avg_w for gpu in payload.gpus if gpu.recent_power_avg_w is not None}
    memory = cpu.memory_timeline if cpu else None
    known = {
        "power_w": power_w or None,
        "busy_cores": cpu.recent_busy_cores if cpu else None,
        "memory_step_s": memory.step_s if memory else None,
        "memory_gb": list(memory.gb) if memory else None,
    }
    return {name: value for name, value in known.items() if value is not None}
