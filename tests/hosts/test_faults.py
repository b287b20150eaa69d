"""Three hosts and their faults: what was acknowledged ends as one judgement, one report and one message, and soon."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.hosts.conftest import Row
from tests.hosts.faults import FAULTS, IN_EVERY_RUN, Fault
from tests.hosts.site import Site
from tests.processes import wait_until

pytestmark = pytest.mark.hosts

JOBS = 16
SPREAD_JOBS, SENDERS = 120, 3
CHOSEN = {name: fault for name, fault in FAULTS if os.environ.get("KAIKU_FAULTS") == "all" or name in IN_EVERY_RUN}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    try:
        yield site
    finally:
        site.stop()


def test_the_work_spreads_over_both_hosts(site: Site) -> None:
    sendings = [site.send(SPREAD_JOBS // SENDERS, told_each=0) for _ in range(SENDERS)]
    judged = Counter[str]()
    for sending in sendings:
        jobs = sending.finish()
        site.wait_until_done(jobs)
        by, again = site.judged(jobs)
        assert again == []
        judged += by
    assert min(judged[host.name] for host in site.workers) >= SPREAD_JOBS // 20


@pytest.mark.parametrize("fault", CHOSEN.values(), ids=CHOSEN)
def test_nothing_is_lost_doubled_or_stuck(site: Site, fault: Fault, request: pytest.FixtureRequest) -> None:
    sending = site.send(JOBS)
    sending.wait_until(JOBS)
    began = time.monotonic()
    fault(site)
    struck_s = time.monotonic() - began
    site.let_leases_end()
    ended, taken = time.monotonic(), site.tasks_taken()
    jobs = sending.finish()
    site.wait_until_done(jobs)
    recovered_s = time.monotonic() - ended
    wait_until("both workers at work", lambda: all(now > taken[name] for name, now in site.tasks_taken().items()))
    both_s = time.monotonic() - ended
    row = Row(request.node.callspec.id, struck_s, recovered_s, both_s, *site.judged(jobs))
    request.config.stash.setdefault(Row.KEY, []).append(row)
    assert row.judged_again == []
    assert sum(row.judged_by.values()) == JOBS
    wait_until("all of it to be told", lambda: set(site.open_work().values()) == {0})


def test_each_job_was_told_once(site: Site) -> None:
    assert site.letters() == {f"Kaiku: job {job}, train, GPU use 90.0 %": 1 for job in site.told}
