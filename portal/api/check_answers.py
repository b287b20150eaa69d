"""The answer of a check, as structs from which the OpenAPI document is generated."""

from datetime import date

import msgspec

from portal.api.work_answers import Range

SCHEMA = "check/1"


class WorkLink(msgspec.Struct, frozen=True):
    """A work and its page; `key` and `url` are empty where nothing names it."""

    key: str
    name: str
    url: str


class ShapeAnswer(msgspec.Struct, frozen=True):
    """What Slurm gives for the options: over all nodes, memory in 2^30 bytes; null where the request leaves it open."""

    nodes: int
    gpus: int
    ntasks: int | None
    cores: int | None
    memory_gb: float | None
    walltime_s: float | None
    partition: str
    is_exclusive: bool


class CostAnswer(msgspec.Struct, frozen=True):
    """What all tasks cost, in `unit`: at the time limit, and for the run time that is typical of earlier runs."""

    unit: str
    at_limit: float | None
    typical: float | None
    text: str


class EarlierAnswer(msgspec.Struct, frozen=True):
    """Earlier runs of the work: `n` counted ones of the last `days`, `same_size` of them as large as requested.

    The ranges are of the completed ones of the same size, where there are any, else of all completed ones.
    """

    work: WorkLink
    project: str
    is_ambiguous: bool
    n: int
    same_size: int
    days: int
    gpus_requested: Range | None
    gpus_used: Range | None
    memory_gb: Range | None
    gpu_memory_gb: Range | None
    run_time_s: Range | None
    use_percent: Range | None
    text: str


class ExpectedAnswer(msgspec.Struct, frozen=True):
    """One quantity of the next run of this size (`run_s`, `gpu_hours`, `gpus` or `memory_gb`), for one task.

    `low` to `high` is to hold in `promised_fraction` of all cases; the three are null where no range is stated. The
    `text` does not repeat what it rests on where the text before it said so; `method` and `runs` always do.
    """

    quantity: str
    method: str
    typical: float
    low: float | None
    high: float | None
    promised_fraction: float | None
    runs: int
    text: str


class ChangeAnswer(msgspec.Struct, frozen=True):
    """One option: an empty `recommended` leaves it out, an empty `requested` adds it."""

    option: str
    requested: str
    recommended: str


class SuggestionAnswer(msgspec.Struct, frozen=True):
    """`changes` of the request's own options, or `request`, all options; `saves_gpu_hours` is of all tasks."""

    changes: list[ChangeAnswer]
    request: list[str]
    reasons: list[str]
    saves_gpu_hours: float | None
    runs: int
    cost: CostAnswer | None
    text: str


class RiskAnswer(msgspec.Struct, frozen=True):
    """What `runs` of the last `of` earlier runs show; both 0 where no run shows it, as for the allocation."""

    code: str
    text: str
    runs: int
    of: int


class WaitAnswer(msgspec.Struct, frozen=True):
    """A range of waits from `n` comparable starts; `coverage` is the share of earlier waits that such ranges held."""

    low_s: float
    typical_s: float
    high_s: float
    n: int
    coverage: float
    text: str


class PartitionAnswer(msgspec.Struct, frozen=True):
    """The same request in one partition of the cluster."""

    partition: str
    fits: bool
    why_not: str | None
    cost_at_limit: float | None
    cost_typical: float | None
    unit: str | None
    is_requested: bool
    wait: WaitAnswer | None


class TextAnswer(msgspec.Struct, frozen=True):
    """One sentence."""

    text: str


class CheckAllocation(msgspec.Struct, frozen=True):
    """What the whole job takes of what the project has left, as its directory states it."""

    project: str
    left: float
    unit: str
    takes: float
    takes_percent: float | None
    text: str


class OfferAnswer(msgspec.Struct, frozen=True):
    """One request in one place; `run_time_s` is null where nobody measured how fast runs are there.

    `at` is what the cost is of: "limit", "typical", or "ended" where the limit ends a run of typical length.
    """

    gpus: int
    cost: float | None
    unit: str | None
    at: str
    wait: WaitAnswer | None
    run_time_s: float | None
    total_text: str


class ElsewhereAnswer(msgspec.Struct, frozen=True):
    """One place for the request as it is, and for the suggested one."""

    platform: str
    kind: str
    fits: bool
    why_not: str | None
    as_is: OfferAnswer | None
    right_sized: OfferAnswer | None
    source: str


class ProgramAnswer(msgspec.Struct, frozen=True):
    """The program that the job's name tells, by `text` with why; `hints` are general advice and `links` its sources."""

    code: str
    name: str
    text: str
    hints: list[str]
    links: list[str]
    lesson_url: str


class ComponentAnswer(msgspec.Struct, frozen=True):
    """One component: `no_suggestion` says why there is none; `elsewhere` is null where it was not asked.

    `program` is null where the job's name tells none.
    """

    job_name: str | None
    refused: str | None
    shape: ShapeAnswer | None
    cost: CostAnswer | None
    earlier_runs: EarlierAnswer | None
    expected: list[ExpectedAnswer]
    suggestion: SuggestionAnswer | None
    no_suggestion: str | None
    risks: list[RiskAnswer]
    partitions: list[PartitionAnswer]
    cheapest: str | None
    soonest: str | None
    shorter_wait: TextAnswer | None
    allocation: CheckAllocation | None
    elsewhere: list[ElsewhereAnswer] | None
    elsewhere_text: str | None
    program: ProgramAnswer | None


class CheckAnswer(msgspec.Struct, frozen=True):
    """The whole answer; `cost` is of all components and tasks."""

    schema: str
    cluster: str | None
    array_tasks: int
    cost: CostAnswer | None
    components: list[ComponentAnswer]
    sentences: list[str]


class PlatformPrice(msgspec.Struct, frozen=True):
    """What a GPU costs for an hour, by which source on which day."""

    unit: str
    per_gpu_hour: float
    source: str
    on: date | None


class PlatformAnswer(msgspec.Struct, frozen=True):
    """A partition of the site, or another place that the site's profile lists; what is null is not known."""

    name: str
    cluster: str | None
    kind: str
    gpu_name: str
    gpus_per_node: int
    gpu_memory_gb: float
    cores_per_node: int | None
    host_memory_gb: float | None
    nodes_max: int | None
    walltime_max_s: float | None
    is_whole_nodes: bool
    price: PlatformPrice | None
    run_time_factor: float | None
    run_time_factor_source: str
    text: str


class PlatformList(msgspec.Struct, frozen=True):
    """Where work can run: the site's partitions first."""

    platforms: list[PlatformAnswer]
