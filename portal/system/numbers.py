"""The numbers of `/metrics`, each a family that Prometheus reads, from the rows that all processes share.

`deploy/monitoring` has rules and a dashboard for them.
"""

import platform
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import django
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Sum
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from analysis.cases.selectors import queue_by_state
from analysis.cases.states import State
from analysis.escalation.selectors import open_counts
from analysis.months.selectors import overdue_s
from analysis.outcomes.selectors import COUNTED_MAX, latest_statuses
from analysis.silence.selectors import jobs_missing_summaries, silent_nodes
from analysis.thresholds import RULES_VERSION
from jobs.imports.selectors import last_imports
from jobs.processes.selectors import processes_there
from jobs.tallies.kinds import KINDS, STEP_FAILURES, Count, Times, running_total
from jobs.tallies.selectors import steps_ended, tallies
from portal.steps import all_steps
from portal.system.readiness import UNKNOWN, UNUSED, Part, parts, trouble_of
from portal.system.state import (
    DUE_MAX,
    IMPORTS_LOOKED_AT,
    data_directory,
    database_bytes,
    due_work,
    failed_work,
    silent_in_running_jobs,
    unclosed_months,
)
from portal.troubles import Trouble, trouble
from reports.webhooks.selectors import webhook_states

Values = Mapping[Any, float]


class Numbers(Collector):
    """Read at each scrape, so that any number of processes give the same answer."""

    def collect(self) -> Iterator[Metric]:
        """Everything that can be read now, and what prevents reading the rest: after one timeout no other read is
        started."""
        began_s, now = time.perf_counter(), timezone.now()
        states = parts(now)
        found = trouble_of(states)
        yield _info()
        yield _parts(states)
        yield from _data_directory()
        try:
            yield from () if found else _rows(now)
        except (DatabaseError, InterfaceError) as error:
            found = trouble(error)
            if found is None:
                raise
        what = "1 for what prevented reading numbers at this scrape"
        yield _gauge("kaiku_trouble", what, ("trouble",), {(each.status,): each is found for each in Trouble})
        yield _number("kaiku_scrape_seconds", "Duration of this scrape", time.perf_counter() - began_s)


def _rows(now: datetime) -> Iterator[Metric]:
    """Families from the database, each read when it is needed."""
    yield from _counted()
    yield from _work(now)
    yield from _steps()
    yield from _missing(now)
    yield from _advice(now)
    what = "Webhooks by receiver and state; a failing one has not taken its last post"
    yield _gauge("kaiku_webhooks", what, ("shape", "state"), webhook_states())
    stored_at = {(source,): at.timestamp() for source, at in last_imports(now - IMPORTS_LOOKED_AT).items()}
    what = "When a directory was last imported"
    yield _gauge("kaiku_directory_imported_timestamp_seconds", what, ("source",), stored_at)
    if settings.DIRECTORY_SOURCE:
        what = "Interval of automatic imports of the directory"
        yield _number("kaiku_directory_interval_seconds", what, settings.DIRECTORY_SECONDS)
    there = processes_there(now)
    kinds = Counter(there.order_by().values_list("kind", "version"))
    yield _gauge("kaiku_processes", "Processes that reported within a minute", ("kind", "version"), kinds)
    waiting = there.order_by().aggregate(records=Sum("waiting_records"))["records"] or 0
    yield _number("kaiku_ingest_queue_records", "Records that wait to be stored, in all processes", waiting)
    yield _number("kaiku_database_bytes", "Size of the database", database_bytes())


def _work(now: datetime) -> Iterator[Metric]:
    due = due_work(now)
    waiting = {(each.kind,): each.waiting for each in due}
    yield _gauge("kaiku_due", f"Background work that waits, counted up to {DUE_MAX}", ("kind",), waiting)
    oldest_s = {(each.kind,): each.oldest_s(now) for each in due}
    yield _gauge("kaiku_oldest_due_seconds", "How long the oldest of it has waited", ("kind",), oldest_s)
    what = "Background work that failed and waits for its next try or is set aside"
    failed = failed_work()
    counts = {(each.kind, "set_aside" if each.is_aside else "waits"): each.count for each in failed}
    yield _gauge("kaiku_work_failures", what, ("kind", "state"), counts)
    since_s = {(each.kind,): (now - each.since).total_seconds() for each in failed if not each.is_aside}
    what = "How long the oldest of it has failed that is still retried"
    yield _gauge("kaiku_oldest_work_failure_seconds", what, ("kind",), since_s)


def _steps() -> Iterator[Metric]:
    periods_s = {(step.name,): step.period_s for step in all_steps.steps_in_use()}
    yield _gauge("kaiku_step_period_seconds", "Interval of a step of background work", ("step",), periods_s)
    outcomes = ("kaiku_step_ended_timestamp_seconds", "without"), ("kaiku_step_failed_timestamp_seconds", "with")
    for (name, how), times in zip(outcomes, steps_ended(), strict=True):
        at = {(step,): moment.timestamp() for step, moment in times.items()}
        yield _gauge(name, f"When a step of background work last ended {how} an error", ("step",), at)


def _missing(now: datetime) -> Iterator[Metric]:
    what = "Ended GPU jobs that were judged without a summary of all or some of their nodes, by how long ago they ended"
    yield _gauge("kaiku_jobs_missing_summaries", what, ("nodes", "age"), jobs_missing_summaries(now))
    silent = Counter((cluster,) for cluster in silent_nodes(now).order_by().values_list("cluster", flat=True))
    what = "Nodes without a summary for their latest jobs"
    yield _gauge("kaiku_silent_nodes", what, ("cluster",), silent)
    silent_running = Counter((node.cluster,) for node in silent_in_running_jobs(now))
    what = "Nodes that sent something of a job that runs, and then nothing for too long"
    yield _gauge("kaiku_silent_running_nodes", what, ("cluster",), silent_running)


def _advice(now: datetime) -> Iterator[Metric]:
    """Counts of the whole site alone: no label names or groups people."""
    yield _gauge("kaiku_flags", "Flags that are raised", ("kind",), {(kind,): n for kind, n in open_counts().items()})
    queue = queue_by_state(now)
    cases = {(state.value,): count for state, (count, _) in queue.items()}
    yield _gauge("kaiku_support_cases", "Cases that support sees", ("state",), cases)
    _, since = queue[State.OPEN]
    waits_s = (now - since).total_seconds() if since else 0.0
    yield _number("kaiku_oldest_unclaimed_case_seconds", "How long the oldest case waits that nobody claimed", waits_s)
    statuses = {(status,): count for status, count in latest_statuses().items()}
    what = f"What became of the latest advice, at most {COUNTED_MAX} recommendations"
    yield _gauge("kaiku_latest_advice", what, ("outcome",), statuses)
    months = unclosed_months(now)
    open_s = {(kind.code,): overdue_s(kind, month, now) if month else 0.0 for kind, month in months}
    what = "For how long the oldest month could have been closed whose figures are not; 0 for none"
    yield _gauge("kaiku_unclosed_month_seconds", what, ("figures",), open_s)


def _counted() -> Iterator[Metric]:
    """Everything counted since this portal started, over all its processes."""
    found = tallies()
    # Prometheus sees no increase in a number that appears.
    found[STEP_FAILURES.name] = {(step.name,): 0.0 for step in all_steps.STEPS} | found.get(STEP_FAILURES.name, {})
    for kind in KINDS:
        if isinstance(kind, Times):
            yield _histogram(kind, found.get(f"{kind.name}_class", {}), found.get(f"{kind.name}_sum", {}))
        else:
            yield _counter(kind, found.get(kind.name, {}))


def _counter(kind: Count, values: Values) -> Metric:
    family = CounterMetricFamily(kind.name, kind.meaning, labels=kind.labels)
    for labels, value in sorted({**dict.fromkeys(kind.zeros, 0.0), **values}.items()):
        family.add_metric(labels, value)
    return family


def _histogram(kind: Times, in_class: Values, sums: Values) -> Metric:
    family = HistogramMetricFamily(kind.name, kind.meaning, labels=kind.labels)
    for labels, total in sorted({**({} if kind.labels else {(): 0.0}), **sums}.items()):
        counts = {limit: count for (*others, limit), count in in_class.items() if tuple(others) == labels}
        family.add_metric(labels, [*running_total(counts, kind.classes)], total)
    return family


def _info() -> Metric:
    said = {
        "version": settings.VERSION,
        "rules": RULES_VERSION,
        "python": platform.python_version(),
        "django": django.get_version(),
        "database": connection.vendor,
    }
    return _gauge("kaiku_info", "Versions of the running processes", (*said,), {(*said.values(),): 1})


def _parts(found: Sequence[Part]) -> Metric:
    known = [part for part in found if part.state not in (UNKNOWN, UNUSED)]
    what = "1 for a component that works, 0 for one that does not"
    return _gauge("kaiku_part_up", what, ("part",), {(part.name,): not part.is_wrong for part in known})


def _data_directory() -> Iterator[Metric]:
    sizes = data_directory()
    if sizes is not None:
        yield _number("kaiku_disk_bytes", "Size of the disk with the data directory of this host", sizes[0])
        yield _number("kaiku_disk_free_bytes", "Free space on this disk", sizes[1])


def _gauge(name: str, meaning: str, labels: Sequence[str], values: Values) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for each, value in sorted(values.items()):
        family.add_metric(each, value)
    return family


def _number(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value)
