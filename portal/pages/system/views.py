"""System: whether everything works, for administrators; the numbers of `/metrics` in words."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.silence.selectors import AGES
from portal.access import administrators_page
from portal.system.concerns import concerns
from portal.system.state import SystemState, system_state
from portal.system.work_names import DUE, FAILED

AGE_NAMES = dict(zip(AGES, ("less than 1 hour", "1 to 6 hours", "6 to 24 hours", "1 to 7 days"), strict=True))


@administrators_page
def system(request: HttpRequest) -> HttpResponse:
    """Contains only names of nodes and of kinds of work, and nothing about anybody's jobs."""
    state = system_state(timezone.now())
    context = {
        "state": state,
        "concerns": concerns(state),
        "due": [(DUE[due.kind], due) for due in state.due],
        "failed": [(FAILED.get(failed.kind, failed.kind), failed) for failed in state.failed],
        "missing": missing_rows(state),
        "processes": process_rows(state),
    }
    return render(request, "portal/system/system.html", context)


@dataclass(frozen=True)
class Missing:
    """Ended jobs of one age without a summary of any of their nodes, and of some."""

    age: str
    all_nodes: int
    some_nodes: int


@dataclass(frozen=True)
class Running:
    """Processes of one kind and version on one host, and when the last of them reported."""

    kind: str
    host: str
    version: str
    count: int
    seen_at: datetime


def missing_rows(state: SystemState) -> list[Missing]:
    """A row for each age, the youngest first."""
    return [Missing(name, state.missing["all", age], state.missing["some", age]) for age, name in AGE_NAMES.items()]


def process_rows(state: SystemState) -> list[Running]:
    """The processes that reported within a minute, by kind and host."""
    counts: Counter[tuple[str, str, str]] = Counter()
    seen_at: dict[tuple[str, str, str], datetime] = {}
    for process in state.processes:
        key = (process.get_kind_display(), process.name.partition("/")[0], process.version)
        counts[key] += 1
        seen_at[key] = max(process.seen_at, seen_at.get(key, process.seen_at))
    return [Running(*key, count, seen_at[key]) for key, count in sorted(counts.items())]
