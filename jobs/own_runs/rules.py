"""Runs that only their owner reports: their state, their project, and how their nodes make up one run."""

from datetime import datetime, timedelta

import msgspec

from jobs.hostlist import short_name
from jobs.records import ENDED_STATES, JobRecord

RUNNING, COMPLETED, FAILED = "RUNNING", "COMPLETED", "FAILED"
SUCCESS = ("", "0", "0:0")
PERSONAL = "own-"

RUN_LONGEST = timedelta(days=366)
"""No cluster lets a job run longer; a longer time comes from a wrong clock."""

Problem = tuple[str, str]


def personal_project(username: str) -> str:
    """The project of the runs that a person reports without a project.

    >>> personal_project("alice")
    'own-alice'
    """
    return PERSONAL + username


def state_of(state: str, exit_code: str, *, is_final: bool) -> str:
    """How a run ended: the reported state, where that is final; else by the exit code of its command.

    The command has ended when the last summary arrives, while Slurm still shows the job as running.

    >>> state_of("TIMEOUT", "0:0", is_final=True), state_of("RUNNING", "1:0", is_final=True)
    ('TIMEOUT', 'FAILED')
    >>> state_of("", "", is_final=True), state_of("", "", is_final=False)
    ('COMPLETED', 'RUNNING')
    """
    if not is_final:
        return RUNNING
    if state in ENDED_STATES:
        return state
    return COMPLETED if exit_code in SUCCESS else FAILED


def time_problems(began_at: datetime | None, ended_at: datetime | None) -> list[Problem]:
    """What keeps these times from being those of a run: one is missing, or no clock was ever so."""
    if began_at is None or ended_at is None:
        missing = (("started_at", began_at), ("ended_at", ended_at))
        return [(name, "required for a run that is not stored yet") for name, at in missing if at is None]
    if ended_at - began_at > RUN_LONGEST:
        return [("started_at", f"is more than {RUN_LONGEST.days} days before ended_at")]
    return []


def merged(stored: JobRecord, told: JobRecord) -> JobRecord:
    """One run as two of its nodes report it: the second adds what the first does not know, and any failure counts.

    The run lasts from the first start to the last end. Owner and project do not change.
    """
    filled = {
        name: getattr(told, name) for name in told.__struct_fields__ if getattr(stored, name) in (None, "", (), {})
    }
    end = min((stored, told), key=lambda record: (_severity(record), not record.exit_code))
    began_at = min(filter(None, (stored.started_at, told.started_at)), default=None)
    ended_at = max(filter(None, (stored.ended_at, told.ended_at)), default=None)
    nodes = _once((*stored.nodes, *told.nodes))
    counts = [count for count in (stored.node_count, told.node_count) if count is not None]
    together = {
        "state": end.state,
        "exit_code": end.exit_code,
        "nodes": nodes,
        "node_count": max(*counts, len(nodes)) if counts else None,
        "started_at": began_at,
        "ended_at": ended_at,
        "walltime_used_s": seconds_between(began_at, ended_at),
    }
    return msgspec.structs.replace(stored, **filled | together)


def checked(record: JobRecord) -> JobRecord:
    """The record, with every value checked. Raises msgspec.ValidationError."""
    return msgspec.convert(msgspec.to_builtins(record), JobRecord)


def seconds_between(began_at: datetime | None, ended_at: datetime | None) -> float | None:
    """The run time, None while start or end is unknown."""
    return None if began_at is None or ended_at is None else (ended_at - began_at).total_seconds()


def _severity(record: JobRecord) -> int:
    """The order of states for a whole run: a failure, then a success, then what still runs."""
    return (not record.has_ended) * 2 + (record.state == COMPLETED)


def _once(nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Each node once, under the name that came first."""
    named: dict[str, str] = {}
    for node in nodes:
        named.setdefault(short_name(node), node)
    return tuple(named.values())
