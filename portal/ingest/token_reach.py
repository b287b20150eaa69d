"""What a collector's token may speak for: one cluster, and where it is bound to a node that node of it alone."""

from __future__ import annotations

from jobs.hostlist import short_name
from jobs.records import JobRecord
from metrics.models import CollectorToken
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.ingest.explain import Problem


def beyond_token(token: CollectorToken, record: NodePayload | RawSamplesPayload | JobRecord) -> list[Problem]:
    """Why this token may not bring this record; empty where it may. Nodes are compared by their short names.

    A record that names no nodes comes from a token of the whole cluster.
    """
    found = []
    if record.cluster != token.cluster:
        found.append(("cluster", f"this token speaks for {token.cluster} only"))
    path, nodes = ("nodes", record.nodes) if isinstance(record, JobRecord) else ("node", (record.node,))
    if token.node and short_name(token.node) not in map(short_name, nodes):
        found.append((path, f"this token speaks for {token.node} only"))
    return found
