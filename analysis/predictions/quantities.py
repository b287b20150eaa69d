"""What is predicted of the next run of a work, on what occasion, by which method, and what is the same question."""

import hashlib
import json
from datetime import date
from enum import StrEnum


class Quantity(StrEnum):
    """`GPUS`: as many as the report of the run finds that it needed; `MEMORY_GB`: host memory over all nodes, 2^30."""

    RUN_S = "run_s"
    GPUS = "gpus"
    MEMORY_GB = "memory_gb"
    GPU_HOURS = "gpu_hours"
    WAIT_S = "wait_s"


class Source(StrEnum):
    """`RECOMMENDATION`: after a run was judged; `CHECK`: a request was checked; `WAIT`: a wait was estimated for it."""

    RECOMMENDATION = "recommendation"
    CHECK = "check"
    WAIT = "wait"


class Method(StrEnum):
    """`ADVICE` is the run time that a recommendation assumes for fewer GPUs: a number without a range."""

    OWN_QUANTILES = "own_quantiles"
    REGRESSION = "regression"
    ADVICE = "advice"
    QUEUE_WAITS = "queue_waits"


OF_OWN_RUNS = frozenset({Method.OWN_QUANTILES, Method.REGRESSION})
"""Methods whose ranges are widened by how far they were off; waits have factors of their own (`queue_waits.ranges`)."""


class Answer(StrEnum):
    """`OPEN`: no run answers yet. `EXCEEDED`: a run that did not complete had already gone beyond the range."""

    OPEN = "open"
    ANSWERED = "answered"
    EXCEEDED = "exceeded"


VERSIONS = {Method.OWN_QUANTILES: 2, Method.REGRESSION: 2, Method.ADVICE: 1, Method.QUEUE_WAITS: 1}
"""Raised with a change of the rule: figures of one version are not those of another."""


DIGITS = 32
"""128 bits: two questions of one work never share a fingerprint by chance."""


def fingerprint(
    source: Source, quantity: Quantity, method: Method, request: tuple[str, int, int, float | None], day: date
) -> str:
    """The question in `DIGITS` hexadecimal digits; `request` is the partition, the nodes, the GPUs and the time limit.

    The limit distinguishes estimates of waits alone: how long a run takes does not depend on it.

    >>> of = lambda quantity, limit_s: fingerprint(
    ...     Source.CHECK, quantity, Method.OWN_QUANTILES, ("small-g", 1, 8, limit_s), date(2026, 11, 1))
    >>> of(Quantity.RUN_S, 60.0) == of(Quantity.RUN_S, 120.0), of(Quantity.WAIT_S, 60.0) == of(Quantity.WAIT_S, 120.0)
    (True, False)
    """
    partition, nodes, gpus, limit_s = request
    limit_s = limit_s if quantity is Quantity.WAIT_S else None
    said = json.dumps([source, quantity, method, partition, nodes, gpus, limit_s, day.isoformat()])
    return hashlib.sha256(said.encode()).hexdigest()[:DIGITS]
