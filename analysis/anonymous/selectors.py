"""Reading the runs of a month that is anonymised, and the months that were."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from analysis.anonymous.bands import UNKNOWN, ProgramOf, Run, partition_type
from analysis.anonymous.month import AnonymousFigures
from analysis.models import ClosedMonth
from analysis.months.selectors import figures_of
from analysis.site.selectors import rows_of_month
from jobs.hardware import partition_of

CODE = "other_sites"
READ = (
    *("user_id", "project_id", "gpu_hours", "job__job_name", "project__science_field", "job__cluster"),
    *("job__partition", "allocated_gpus", "job__walltime_used_s", "job__state", "counted_class", "avg_gpu_util"),
    *("peak_gpu_mem_fraction", "finding_codes"),
)
"""The columns of `_run`, in its order."""


def anonymous_days() -> list[date]:
    """The first days of the anonymised months, the oldest first."""
    rows = ClosedMonth.objects.filter(kind=CODE).order_by("first_day")
    return list(rows.values_list("first_day", flat=True))


def anonymous_figures(first_day: date) -> AnonymousFigures | None:
    """The stored rows of a month; None where it is not anonymised."""
    return figures_of(CODE, first_day, AnonymousFigures)


def runs_to_anonymise(month: date, program_of: ProgramOf) -> Iterator[Run]:
    """The runs that count in the figures of the site for a month."""
    return (_run(row, program_of) for row in rows_of_month(month, *READ))


def _run(row: tuple[Any, ...], program_of: ProgramOf) -> Run:
    person, project, gpu_hours, job_name, science_field, cluster, partition, *of_run = row
    gpus, run_time_s, state, efficiency_class, gpu_use_percent, gpu_memory_fraction, finding_codes = of_run
    described = partition_of(cluster, partition)
    return Run(
        person=person,
        project=project,
        gpu_hours=gpu_hours,
        program=program_of(job_name) or UNKNOWN,
        science_field=science_field or UNKNOWN,
        gpu=described.node.gpu_name if described else UNKNOWN,
        partition_type=partition_type(described.is_exclusive if described else None),
        gpus=gpus or None,
        run_time_h=None if run_time_s is None else run_time_s / 3600,
        state=state,
        efficiency_class=efficiency_class,
        gpu_use_percent=gpu_use_percent,
        gpu_memory_percent=None if gpu_memory_fraction is None else 100 * gpu_memory_fraction,
        finding=next(iter(finding_codes.split()), "none"),
    )
