"""One run as one row, for analysts: the request, how it ended, what it cost, and how well it used its GPUs.

The same values stand in JSON lines, CSV and Parquet. A value that is not known or not measured is None, never 0 and
never an empty text. Times are UTC. There are no command lines, no directories and no names of nodes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta

SCHEMA = "kaiku-performance/1"
"""The name of the columns and their meaning. Columns may be added at the end; any other change gets a new number."""

SLURM = "Slurm"
OPTIONS = "request"
SITE = "site profile"
NODES = "collectors"
KAIKU = "Kaiku"
SOURCES: Mapping[str, str] = {
    SLURM: "the record that Slurm or its epilog sent",
    OPTIONS: "the resource options in the user's own spelling, where they are known",
    SITE: "the site profile: hardware and prices of each partition",
    NODES: "measured on the nodes while the run lasted",
    KAIKU: "computed by Kaiku from the above",
}
"""Where values come from, by the name in the data dictionary."""

Kind = Literal["text", "integer", "number", "boolean", "time"]
KINDS: Mapping[type, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean", datetime: "time"}


def _is(description: str, source: str, unit: str = "") -> Meta:
    return Meta(description=description, extra={"source": source, "unit": unit})


class PerformanceRow(msgspec.Struct, frozen=True):
    """One attempt of one job, judged or not; the annotations are the data dictionary."""

    cluster: Annotated[str, _is("Slurm's ClusterName", SLURM)]
    job_id: Annotated[int, _is("number of the job", SLURM)]
    attempt: Annotated[int, _is("restart count of the job, 0 for its first run", SLURM)]
    array_job_id: Annotated[int | None, _is("number of the array that the run is a task of", SLURM)]
    array_task_id: Annotated[int | None, _is("index of the task in its array", SLURM)]
    user_id: Annotated[str, _is("account of the owner", SLURM)]
    project_id: Annotated[str, _is("Slurm's account that the run is billed to", SLURM)]
    job_name: Annotated[str | None, _is("name of the job, as the user wrote it", SLURM)]
    work_key: Annotated[
        str | None, _is("the same for runs of the same work of one user in one project, known by the job's name", KAIKU)
    ]
    partition_requested: Annotated[str | None, _is("value of --partition", OPTIONS)]
    partition: Annotated[str | None, _is("partition that the run ran in", SLURM)]
    qos: Annotated[str | None, _is("quality of service", SLURM)]
    gpu_name: Annotated[str | None, _is("what one GPU is: on LUMI-G one GCD, half of an MI250X module", SITE)]
    gpu_memory_gb: Annotated[float | None, _is("memory of one GPU", SITE, "GB")]
    gpus_requested: Annotated[int | None, _is("GPUs requested, over all nodes", SLURM)]
    gpus_allocated: Annotated[int | None, _is("GPUs allocated, over all nodes", SLURM)]
    nodes_requested: Annotated[int | None, _is("nodes requested, the least of a range", SLURM)]
    node_count: Annotated[int | None, _is("nodes allocated", SLURM)]
    is_exclusive: Annotated[bool | None, _is("whether whole nodes were requested or allocated", SLURM)]
    ntasks: Annotated[int | None, _is("tasks (ranks)", SLURM)]
    cpus_per_task: Annotated[int | None, _is("physical cores of each task", SLURM)]
    cpus_allocated: Annotated[int | None, _is("physical cores allocated, over all nodes", SLURM)]
    memory_requested_gb: Annotated[float | None, _is("host memory requested, over all nodes", SLURM, "GB")]
    walltime_requested_s: Annotated[float | None, _is("time limit", SLURM, "s")]
    walltime_used_s: Annotated[float | None, _is("run time", SLURM, "s")]
    queue_wait_s: Annotated[float | None, _is("from when the run could start until it did", SLURM, "s")]
    submitted_at: Annotated[datetime | None, _is("when the job was submitted", SLURM)]
    started_at: Annotated[datetime | None, _is("when the run began", SLURM)]
    ended_at: Annotated[datetime | None, _is("when the run ended", SLURM)]
    state: Annotated[str, _is("Slurm's state, such as COMPLETED or TIMEOUT", SLURM)]
    exit_code: Annotated[str | None, _is("exit code and signal, code:signal", SLURM)]
    success: Annotated[bool | None, _is("whether the run ended as COMPLETED; null while it has not ended", KAIKU)]
    error_details: Annotated[str | None, _is("how the run ended, in words; null where it completed", KAIKU)]
    billing_unit: Annotated[str | None, _is("what the columns named gpu_hours count", SITE)]
    gpu_hours: Annotated[float | None, _is("the bill of the run", KAIKU, "billing_unit")]
    wasted_gpu_hours: Annotated[
        float | None, _is("unused: gpu_hours x (1 - mean use); an estimate", KAIKU, "billing_unit")
    ]
    idle_gpu_hours: Annotated[float | None, _is("gpu_hours x mean idle share of the GPUs", KAIKU, "billing_unit")]
    saved_gpu_hours: Annotated[float | None, _is("what the suggested request would have saved", KAIKU, "billing_unit")]
    efficiency_class: Annotated[
        str | None,
        _is("EFFICIENT, ACCEPTABLE, INEFFICIENT, WASTED; UNKNOWN where use is not judged; null before analysis", KAIKU),
    ]
    not_judged_because: Annotated[
        str | None, _is("why use is not judged: short, system_failure, ended_early, not_measured", KAIKU)
    ]
    finding_codes: Annotated[
        str | None,
        _is("codes of the findings, the surest first, separated by a space; null where there is none", KAIKU),
    ]
    avg_gpu_util_percent: Annotated[
        float | None, _is("mean use of the measured GPUs, weighted by measured time", NODES, "percent")
    ]
    coverage_fraction: Annotated[float | None, _is("measured share of the allocated GPU time", NODES, "fraction")]
    is_partial: Annotated[bool | None, _is("whether less than 80 % of the GPU time was measured", KAIKU)]
    measured_gpus: Annotated[int | None, _is("GPUs whose use was measured", NODES)]
    effective_gpus: Annotated[int | None, _is("GPUs with a mean use above 30 %", KAIKU)]
    effective_gpus_fraction: Annotated[float | None, _is("effective_gpus / measured_gpus", KAIKU, "fraction")]
    peak_gpu_mem_gb: Annotated[float | None, _is("peak memory of the fullest GPU", NODES, "GB")]
    peak_gpu_mem_fraction: Annotated[float | None, _is("the same as a share of its capacity", NODES, "fraction")]
    busy_cores: Annotated[float | None, _is("mean busy physical cores, over all nodes", NODES)]
    host_peak_gb: Annotated[float | None, _is("peak host memory of the fullest node x nodes", NODES, "GB")]
    io_wait_fraction: Annotated[
        float | None,
        _is("share of time that waited for I/O: the larger of I/O wait and I/O pressure", NODES, "fraction"),
    ]
    gpu_energy_j: Annotated[float | None, _is("energy of the GPUs, only where all of them were read", NODES, "J")]
    throughput_per_s: Annotated[float | None, _is("throughput that a script logged", KAIKU, "throughput_unit / s")]
    throughput_unit: Annotated[str | None, _is("what throughput_per_s counts", KAIKU)]
    missing_nodes: Annotated[int | None, _is("nodes that sent no summary", NODES)]
    reported_by_owner_only: Annotated[bool, _is("whether Slurm's own record has not confirmed the run yet", KAIKU)]
    rules_version: Annotated[str | None, _is("version of the rules of the judgement", KAIKU)]
    analysed_at: Annotated[datetime | None, _is("when the run was judged; null before analysis", KAIKU)]


@dataclass(frozen=True)
class Column:
    """One column of the data dictionary; `unit` is empty where the value has none, GB is 2^30 bytes."""

    name: str
    type: Kind
    unit: str
    description: str
    source: str
    is_nullable: bool


def _column(name: str, hint: Any) -> Column:
    described, meta = get_args(hint)
    kinds = get_args(described) or (described,)
    extra = meta.extra or {}
    return Column(name, KINDS[kinds[0]], extra["unit"], meta.description, extra["source"], type(None) in kinds)


COLUMNS = tuple(_column(name, hint) for name, hint in get_type_hints(PerformanceRow, include_extras=True).items())
"""The columns in their order; CSV, JSON lines and Parquet have exactly these."""


def dictionary() -> dict[str, Any]:
    """Every column with its type, unit and source, as a JSON object."""
    return {
        "schema": SCHEMA,
        "sources": dict(SOURCES),
        "columns": [
            {
                **{"name": column.name, "type": column.type, "unit": column.unit or None},
                **{"may_be_null": column.is_nullable, "source": column.source, "description": column.description},
            }
            for column in COLUMNS
        ],
    }


def dictionary_text() -> str:
    """The same as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"`{SCHEMA}`: one row a run. Times are UTC. GB is 2^30 bytes. What is not known or not measured is null,"
    yield "never 0 and never an empty text."
    yield ""
    yield from ("| column | type | unit | source | meaning |", "|---|---|---|---|---|")
    for column in COLUMNS:
        cells = (f"`{column.name}`", column.type, column.unit, column.source, column.description)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {source}: {meaning}." for source, meaning in SOURCES.items())
