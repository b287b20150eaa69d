"""What goes wrong on the three hosts: each fault strikes while jobs arrive and ends; then recovery is timed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from tests.hosts.machines import Host
from tests.hosts.site import Site
from tests.parts import libfaketime
from tests.processes import wait_until

CUT_S = float(os.environ.get("KAIKU_CUT_SECONDS", "6"))
"""How long a cable is cut; the table of a release is made with 30."""

AWAY_S = 2.0
"""How long a service manager takes to start what was killed."""

Fault = Callable[[Site], None]


def nothing(site: Site) -> None:
    """For comparison."""


def a_worker_killed(site: Site) -> None:
    restart_workers(site, site.one)


def both_workers_killed(site: Site) -> None:
    restart_workers(site, *site.workers)


def restart_workers(site: Site, *hosts: Host) -> None:
    for host in hosts:
        host.signal("worker", signal.SIGKILL)
    time.sleep(AWAY_S)
    for host in hosts:
        site.start_worker(host)


def the_beat_killed(site: Site) -> None:
    """Nobody starts it again: the other host's beat goes on, and its worker makes a new one."""
    host, pid = site.beat_host()
    host.kill_within(pid)


def redis_killed(site: Site) -> None:
    """It comes back empty."""
    site.portal.signal("redis", signal.SIGKILL)
    time.sleep(AWAY_S)
    site.start_redis()


def postgres_killed(site: Site) -> None:
    """The immediate stop of `pg_ctl`: without a word to its clients, and recovery at the next start."""
    site.portal.signal("postgres", signal.SIGQUIT)
    time.sleep(AWAY_S)
    site.start_postgres()


def the_portal_killed(site: Site) -> None:
    site.portal.signal("portal", signal.SIGKILL)
    time.sleep(AWAY_S)
    site.start_portal()


def a_worker_hears_nothing(site: Site) -> None:
    with site.portal.unheard_by(site.one):
        time.sleep(CUT_S)


def a_worker_is_not_heard(site: Site) -> None:
    with site.one.unheard_by(site.portal):
        time.sleep(CUT_S)


def a_cable_cut(site: Site) -> None:
    with site.one.unplugged():
        time.sleep(CUT_S)


def a_host_lost(site: Site) -> None:
    """Its power fails: nothing says that its connections have ended. It comes back after the cut."""
    with site.one.unplugged():
        site.one.signal("worker", signal.SIGKILL)
        time.sleep(CUT_S)
    site.start_worker(site.one)


def a_clock_ahead(site: Site) -> None:
    wrong_clock(site, "+120s")


def a_clock_behind(site: Site) -> None:
    wrong_clock(site, "-120s")


def wrong_clock(site: Site, offset: str) -> None:
    """The wall clock of one worker is wrong from its start on; what measures durations is not."""
    site.one.signal("worker", signal.SIGTERM)
    site.start_worker(
        site.one, LD_PRELOAD=libfaketime(), FAKETIME=offset, DONT_FAKE_MONOTONIC="1", FAKETIME_DONT_FAKE_MONOTONIC="1"
    )
    log = site.top / "one.log"
    starts = log.read_text().count(" ready.")
    wait_until("the worker with the wrong clock", lambda: log.read_text().count(" ready.") > starts)


CABLE_CUT = "cut: both directions"
FAULTS: tuple[tuple[str, Fault], ...] = (
    ("no fault", nothing),
    ("kill -9 of a worker", a_worker_killed),
    ("kill -9 of both workers", both_workers_killed),
    ("kill -9 of the beat that sends", the_beat_killed),
    ("kill -9 of Redis, empty afterwards", redis_killed),
    ("immediate stop of PostgreSQL", postgres_killed),
    ("kill -9 of the server", the_portal_killed),
    ("cut: a worker hears nothing", a_worker_hears_nothing),
    ("cut: a worker is not heard", a_worker_is_not_heard),
    (CABLE_CUT, a_cable_cut),
    ("power of a worker's host lost", a_host_lost),
    ("clock of a worker 2 min ahead", a_clock_ahead),
    ("clock of a worker 2 min behind", a_clock_behind),
)

IN_EVERY_RUN = (
    "kill -9 of both workers",
    "kill -9 of Redis, empty afterwards",
    "immediate stop of PostgreSQL",
    CABLE_CUT,
)
"""All of them take five minutes and more: `KAIKU_FAULTS=all`."""
