"""The answers of the calls about many runs, as structs from which the OpenAPI document is generated."""

from datetime import date, datetime

import msgspec

from portal.api.check_answers import WorkLink


class PeriodAnswer(msgspec.Struct, frozen=True):
    """From `since` until `until`."""

    days: int
    since: datetime
    until: datetime


class WouldSave(msgspec.Struct, frozen=True):
    """A work with open savings and its request: changes of the options of its latest run, or the whole request.

    Both are empty where the request stays as it is; `reason` says which run it follows from.
    """

    work: WorkLink
    gpu_hours: float
    runs: int
    title: str
    diff: list[str]
    request: list[str]
    run_url: str
    text: str
    reason: str


class WithoutUse(msgspec.Struct, frozen=True):
    """A work of which `runs` of `of` counted runs used no GPU at all; `is_over` where a later run used its GPUs.

    `diff` or `request` is what the report of the latest of them suggests, empty where that is over.
    """

    work: WorkLink
    runs: int
    of: int
    gpu_hours: float
    is_over: bool
    text: str
    title: str
    diff: list[str]
    request: list[str]
    run_url: str
    lesson_url: str


class Repeats(msgspec.Struct, frozen=True):
    """A finding of `runs` of the counted runs of the period; `unused_gpu_hours` are of those that it comes first in."""

    code: str
    title: str
    runs: int
    of: int
    unused_gpu_hours: float
    text: str
    lesson_url: str


class Brought(msgspec.Struct, frozen=True):
    """What following advice saved over everything stored, whatever the period of the other figures.

    `followed` of `given` suggestions were followed in full; `runs` followed one in full or in part since `since`. The
    hours are of `compared_runs` of them alone, null where none can be compared.
    """

    saved_gpu_hours: float | None
    runs: int
    followed: int
    given: int
    text: str
    compared_runs: int
    since: date | None


class PracticeAnswer(msgspec.Struct, frozen=True):
    """What works of many people did from month `since` to `until`, of one `program` or of all where it is empty.

    `kind` is a kind of advice, or `half_the_gpus`. `followed` works did so, of `answered` ones, null while withheld.
    The changes are medians over people of `compared` works; null where too few people can be compared.
    """

    kind: str
    program: str
    since: date
    until: date
    followed: int
    answered: int | None
    people: int
    compared: int
    compared_people: int
    run_time_percent: int | None
    gpu_hours_percent: int | None
    failed_percent: int | None
    text: str


class MistakeAnswer(msgspec.Struct, frozen=True):
    """A finding that `works` of `of` works of many people had in the month; the hours are a median of such a work."""

    code: str
    works: int
    of: int
    people: int
    unused_gpu_hours: float | None
    text: str
    lesson_url: str


class OthersAnswer(msgspec.Struct, frozen=True):
    """What works of many people did: empty where groups are too small. `month` is that of the common mistakes."""

    practices: list[PracticeAnswer]
    mistakes: list[MistakeAnswer]
    month: str


class InsightAnswer(msgspec.Struct, frozen=True):
    """What one's own runs of a period say together: runs without any GPU use first, then the biggest savings."""

    period: PeriodAnswer
    without_gpu_use: list[WithoutUse]
    would_save: list[WouldSave]
    repeats: list[Repeats]
    brought: Brought | None
    others: OthersAnswer
    sentences: list[str]


class HintAnswer(msgspec.Struct, frozen=True):
    """Lines to show when a job of one of these names is submitted; the first name is the normalised one.

    The last `gpus_lines` of them suggest a request with `gpus` GPUs in all, fewer than the latest run had: they are for
    submissions with more. `gpus` is null where the lines are about something else.
    """

    key: str
    work_names: list[str]
    cluster: str
    project: str
    lines: list[str]
    worth_gpu_hours: float | None
    gpus: int | None
    gpus_lines: int


class HintList(msgspec.Struct, frozen=True):
    """The hints of one's own works, the most worth first; none where `is_on` is false, for `off_reason`."""

    is_on: bool
    made_at: datetime
    days: int
    hints: list[HintAnswer]
    off_reason: str
