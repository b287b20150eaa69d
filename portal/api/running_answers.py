"""The answers of the calls about running jobs, as structs from which the OpenAPI document is generated."""

from datetime import datetime

import msgspec


class StepAnswer(msgspec.Struct, frozen=True):
    """Something to look at; `command` is for a terminal, empty where none is needed."""

    text: str
    command: str


class WordAnswer(msgspec.Struct, frozen=True):
    """An early word that holds: what it is, where to look first, and what is only possible: nothing is ever cancelled.

    `since_s` counts from the start of the job, null where it is about no time. `confidence` is how often such words
    were right, from 0 to 1; `is_fact`: it was counted. `found_at` is when it was found first, `held_at` last. Only the
    owner of a job has commands: for others `steps` is empty, and so are the texts of `possibility`.
    """

    code: str
    title: str
    text: str
    steps: list[StepAnswer]
    possibility: StepAnswer
    since_s: float | None
    confidence: float
    is_fact: bool
    found_at: datetime
    held_at: datetime


class OverWordAnswer(msgspec.Struct, frozen=True):
    """An early word that holds no longer: found at `found_at`, over since `over_at`."""

    code: str
    title: str
    found_at: datetime
    over_at: datetime


class UseAnswer(msgspec.Struct, frozen=True):
    """Mean use of all GPUs in equal parts of `step_s` seconds from the start; null where a part was not measured."""

    step_s: float
    percent: list[float | None]


class SilentNodeAnswer(msgspec.Struct, frozen=True):
    """A node that was heard, and has sent nothing since then for too long."""

    node: str
    since: datetime


class MeasuredAnswer(msgspec.Struct, frozen=True):
    """What was measured of a running job until `until`; null is not measured. Memory is in units of 2^30 bytes.

    `idle_since` is since when no GPU did anything, null while one works. `gpu_memory_…` are of the fullest GPU,
    `host_memory_…` of the fullest node, without cached files; a limit or capacity is null where it is not known.
    """

    until: datetime
    use_percent: float | None
    gpus_with_work: int | None
    idle_since: datetime | None
    gpu_memory_peak_gb: float | None
    gpu_memory_capacity_gb: float | None
    host_memory_peak_gb: float | None
    host_memory_limit_gb: float | None
    nodes_heard: int
    nodes_expected: int
    silent_nodes: list[SilentNodeAnswer]
    use: UseAnswer


class RunningAnswer(msgspec.Struct, frozen=True):
    """A job that runs, as the queue lists it; `measured` is null while nothing was measured since its start.

    `attempt` is null until then, and `left_s`, `ends_at` and `gpu_hours_at_limit` are without a time limit.
    `gpu_hours_…` are the bill of the whole allocation, null where the partition has no price in GPU-hours. `as_of` is
    the moment that `ran_s` and the costs are of; `is_old` where the queue was not read lately, so that the job may have
    ended. `is_own`: it is yours, not only of a project that you lead. `words` hold now, `words_over` no longer, the
    latest first. `url` opens its page.
    """

    cluster: str
    job_id: int
    array_job_id: int | None
    array_task_id: int | None
    attempt: int | None
    name: str
    state: str
    user_id: str
    is_own: bool
    project_id: str
    partition: str
    gpus: int
    node_count: int | None
    started_at: datetime
    time_limit_s: float | None
    ran_s: float
    left_s: float | None
    ends_at: datetime | None
    gpu_hours_so_far: float | None
    gpu_hours_at_limit: float | None
    as_of: datetime
    is_old: bool
    url: str
    measured: MeasuredAnswer | None
    words: list[WordAnswer]
    words_over: list[OverWordAnswer]


class RunningList(msgspec.Struct, frozen=True):
    """Running GPU jobs, those with a word first, then the latest start first; `count` is how many run.

    `is_more` where even more run than were counted. They are part of no history until they end.
    """

    count: int
    is_more: bool
    jobs: list[RunningAnswer]
