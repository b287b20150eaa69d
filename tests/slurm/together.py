"""Cases that run at the same time on one Slurm, each in a thread of its own, each a test of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.slurm.case_nodes import CaseNodes

Case = Callable[[CaseNodes], None]
Running = dict[Case, Future[None]]


@contextmanager
def started(request: pytest.FixtureRequest, nodes: CaseNodes) -> Iterator[Running]:
    """The cases of a module that were asked for; each test waits for its own, and fails as it did."""
    asked = [item.callspec.params["case"] for item in request.session.items if item.path == request.path]
    with ThreadPoolExecutor(len(asked)) as pool:
        yield {case: pool.submit(case, nodes) for case in asked}
