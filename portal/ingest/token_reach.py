"""What a collector's token is valid for: one cluster, or only one node of it if the token is bound to a node."""

from __future__ import annotations

from jobs.hostlist import short_name
from jobs.records import JobRecord
from metrics.models import CollectorToken
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.ingest.explain import Problem


def beyond_token(token: CollectorToken, record: NodePayload | RawSamplesPayload | JobRecord) -> list[Problem]:
    """Why this token may not send this record; empty if it may. Nodes are compared by their short names.

    A record that names no nodes must come with a token of the whole cluster.
    """
    found = []
    if record.cluster != token.cluster:
        found.append(("cluster", f"this token is valid for {token.cluster} only"))
    path, nodes = ("nodes", record.nodes) if isinstance(record, JobRecord) else ("node", (record.node,))
    if token.node and short_name(token.node) not in map(short_name, nodes):
        found.append((path, f"this token is valid for {token.node} only"))
    return found
