"""When two predictions are the same question, so that only the first of a day is kept while no run has answered it."""

from __future__ import annotations

import hashlib
import json
from datetime import date

from analysis.predictions.quantities import Method, Quantity, Source

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
