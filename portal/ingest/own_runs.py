"""Summaries that people send of their own runs: accepted only for their own runs, and marked as sent by them."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

import msgspec
from django.db import transaction
from django.utils import timezone

from jobs import records as job_records
from jobs.hostlist import short_name
from jobs.models import Job, Project, User
from jobs.own_runs.rules import seconds_between, state_of, time_problems
from jobs.own_runs.services import own_run, project_for_own_run, tell_run
from jobs.records import JobRecord
from jobs.runs.services import RecordConflict
from metrics import payloads
from metrics.own_run import OwnRun
from metrics.payloads import NodePayload
from metrics.services import record_node_summary
from portal.ingest.explain import Problem, explain
from portal.ingest.services import Kind, Kinds
from wire.payloads import NODE_SUMMARY

NOT_KNOWN_YET = "required for a run that is not stored yet"
ANOTHER_NAME = "differs from the account of this token"
NOTHING = OwnRun()


def own_run_kinds(sender: User) -> Kinds:
    """What a personal token for sending may send: node summaries, each stored as this person's."""
    return {NODE_SUMMARY: Kind(NodePayload, partial(_problems, sender), partial(record_own_summary, sender))}


def record_own_summary(sender: User, payload: NodePayload, now: datetime | None = None) -> bool:
    """Store what a person's own run of the collector measured on one node; True if it was new.

    If the site has not reported the run, the run is created or extended from what its owner reports. Every transaction
    writes the summary first and the run second, so that nodes of one run that send at the same moment only wait for
    each other. Raises RecordConflict.
    """
    now = now or timezone.now()
    with transaction.atomic():
        run = own_run(sender, payload.cluster, payload.job_id, payload.attempt)
        is_told = run is None or run.is_told_by_owner
        if is_told:
            _refuse(_told_problems(payload, run))
        # The site's summary of a node has the name as it was sent, an owner's always the short name.
        measured = msgspec.structs.replace(payload, node=short_name(payload.node))
        if not record_node_summary(measured, now, sent_by=sender.username):
            return False
        if is_told:
            _tell(sender, payload, run, now)
    return True


def _problems(sender: User, payload: NodePayload) -> list[Problem]:
    told = payload.own_run or NOTHING
    is_another = told.user_id is not None and told.user_id != sender.username
    return [*payloads.problems(payload), *([("own_run.user_id", ANOTHER_NAME)] if is_another else [])]


def _told_problems(payload: NodePayload, run: Job | None) -> list[Problem]:
    """What is missing or impossible in a run that only its owner reported."""
    if run is None and payload.own_run is None:
        return [("own_run", NOT_KNOWN_YET)]
    if run is None or (payload.started_at and payload.ended_at):
        return time_problems(payload.started_at, payload.ended_at)
    return []


def _tell(sender: User, payload: NodePayload, run: Job | None, now: datetime) -> None:
    """Create or extend the run; what is wrong in `own_run` is named by its path."""
    told = payload.own_run or NOTHING
    try:
        project = run.project if run else project_for_own_run(sender, told.project_id or "")
        tell_run(_record(sender, payload, told, project), sender, project, now)
    except RecordConflict as conflict:
        _refuse(conflict.problems)


def _record(sender: User, payload: NodePayload, told: OwnRun, project: Project) -> JobRecord:
    """The run as this node's summary reports it. Raises RecordConflict."""
    said = {name: value for name, value in msgspec.structs.asdict(told).items() if value is not None}
    nodes = told.nodes or ()
    if short_name(payload.node) not in map(short_name, nodes):
        nodes += (short_name(payload.node),)
    ended_at = payload.ended_at if payload.final else None
    known = {
        **{name: getattr(payload, name) for name in ("cluster", "job_id", "attempt", "started_at")},
        **{"user_id": sender.username, "project_id": project.name, "nodes": nodes, "ended_at": ended_at},
        "state": state_of(told.state or "", told.exit_code or "", is_final=payload.final),
        "walltime_used_s": seconds_between(payload.started_at, ended_at),
        "node_count": None if told.node_count is None else max(told.node_count, len(nodes)),
        # Without Slurm nothing was allocated, but such a machine still has its GPUs.
        "gpus_allocated": told.gpus_allocated or None,
    }
    try:
        record = msgspec.convert(said | known, JobRecord)
    except msgspec.ValidationError:
        raise RecordConflict(explain(said | known, JobRecord)) from None
    if problems := job_records.problems(record):
        raise RecordConflict(problems)
    return record


def _refuse(problems: Iterable[Problem]) -> None:
    """Raise the problems, if any, each with its path in the payload."""
    of_owner = OwnRun.__struct_fields__
    placed = [(f"own_run.{path}" if path.partition("[")[0] in of_owner else path, why) for path, why in problems]
    if placed:
        raise RecordConflict(placed)
