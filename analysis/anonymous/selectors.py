"""Reading the runs of a month that is anonymised, and the months that were."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import msgspec

from analysis.anonymous.bands import UNKNOWN, ProgramOf, Run
from analysis.anonymous.models import AnonymousMonth
from analysis.anonymous.month import AnonymousFigures
from analysis.site.models import SiteMonth
from analysis.site.selectors import MONTHS, rows_of_month
from jobs.hardware import partition_of

READ = (
    *("user_id", "project_id", "gpu_hours", "job__job_name", "project__science_field", "job__cluster"),
    *("job__partition", "allocated_gpus", "job__walltime_used_s", "job__state", "counted_class", "avg_gpu_util"),
    *("peak_gpu_mem_fraction", "finding_codes"),
)
"""The columns of `_run`, in its order."""


def months_to_anonymise() -> list[date]:
    """The months that the site closed and that are not anonymised yet, the latest first."""
    latest = SiteMonth.objects.order_by("-first_day").values_list("first_day", flat=True)[:MONTHS]
    done = set(AnonymousMonth.objects.filter(first_day__in=list(latest)).values_list("first_day", flat=True))
    return [month for month in latest if month not in done]


def anonymous_months() -> list[date]:
    """The first days of the anonymised months, the oldest first."""
    return list(AnonymousMonth.objects.order_by("first_day").values_list("first_day", flat=True))


def anonymous_figures(first_day: date) -> AnonymousFigures | None:
    """The stored rows of a month; None where it is not anonymised."""
    figures = AnonymousMonth.objects.filter(first_day=first_day).values_list("figures", flat=True).first()
    return None if figures is None else msgspec.convert(figures, AnonymousFigures)


def runs_to_anonymise(month: date, program_of: ProgramOf) -> Iterator[Run]:
    """The runs that count in the figures of the site for a month."""
    return (_run(program_of, *row) for row in rows_of_month(month, *READ))


def _run(
    program_of: ProgramOf,
    person: int,
    project: int,
    gpu_hours: float,
    job_name: str,
    science_field: str,
    cluster: str,
    partition: str,
    gpus: int,
    run_time_s: float | None,
    state: str,
    efficiency_class: str,
    gpu_use_percent: float | None,
    gpu_memory_fraction: float | None,
    finding_codes: str,
) -> Run:
    described = partition_of(cluster, partition)
    return Run(
        person=person,
        project=project,
        gpu_hours=gpu_hours,
        program=program_of(job_name) or UNKNOWN,
        science_field=science_field or UNKNOWN,
        gpu=described.node.gpu_name if described else UNKNOWN,
        partition_type=("whole_nodes" if described.is_exclusive else "shared") if described else UNKNOWN,
        gpus=gpus or None,
        run_time_h=None if run_time_s is None else run_time_s / 3600,
        state=state,
        efficiency_class=efficiency_class,
        gpu_use_percent=gpu_use_percent,
        gpu_memory_percent=None if gpu_memory_fraction is None else 100 * gpu_memory_fraction,
        finding=next(iter(finding_codes.split()), "none"),
    )
