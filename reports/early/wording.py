"""The text of an early word: what holds of a job that still runs, where to look, and what could be done; pure.

One value for mail, page, terminal, feed and webhooks. It advises: nothing is ever cancelled by Kaiku.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from analysis.early.findings import EarlyCode
from jobs.shown_text.joiners import shortened
from reports.early.steps import Step, end, place, steps_of
from reports.numbers import instant, share, to_the_minute
from reports.vendor import tools_of
from wire.numbers import counted, duration, gigabytes, hours, percent

Evidence = Mapping[str, Any]

TITLES = {
    EarlyCode.ALL_GPUS_IDLE: "No GPU of this job has work",
    EarlyCode.CPU_ONLY: "No GPU was used since the start, while the CPUs work",
    EarlyCode.SOME_GPUS_UNUSED: "Some GPUs of this job are not used",
    EarlyCode.SPINNING: "The GPUs show as busy but probably wait",
    EarlyCode.GPU_MEMORY_FULL: "GPU memory is nearly full and still growing",
    EarlyCode.HOST_MEMORY_FILLING: "Host memory will probably run out",
    EarlyCode.LIMIT_TOO_SHORT: "The time limit is probably too short",
}
STOPPED_TITLE = "The GPUs are busy, but no step is made"
SESSION_TITLE = "This session does not use its GPUs"
GPUS_SHOWN_MAX = 200


@dataclass(frozen=True)
class EarlyJob:
    """What a text needs to know of the job; `gpu_hours_…` as billed, None where there is no price or no limit.

    `nodes` and `job_name` are as they arrived: nothing of them is put into a command unchecked.
    """

    cluster: str
    job_id: int
    job_name: str = ""
    nodes: tuple[str, ...] = ()
    partition: str = ""
    is_interactive: bool = False
    started_at: datetime | None = None
    ends_at: datetime | None = None
    gpus: int = 0
    gpu_hours_so_far: float | None = None
    gpu_hours_to_limit: float | None = None


@dataclass(frozen=True)
class EarlyText:
    """A title of at most 60 characters, one to three sentences, what to look at first, and what is only possible."""

    title: str
    sentences: tuple[str, ...]
    steps: tuple[Step, ...]
    possibility: Step


def early_text(code: EarlyCode, evidence: Evidence, job: EarlyJob) -> EarlyText:
    """The text of one word about this job."""
    where = place(job.job_id, job.nodes, str(evidence.get("node", "")))
    said = SENTENCES[code](evidence, job)
    return EarlyText(
        title=early_title(code, evidence, is_interactive=job.is_interactive),
        sentences=(*said, *_cost(code, job), *_measured(evidence, job)),
        steps=steps_of(code, evidence, where, tools_of(job.cluster, job.partition).monitor),
        possibility=_possibility(code, job, end(where) if where.is_known else ""),
    )


def early_title(code: EarlyCode, evidence: Evidence, *, is_interactive: bool = False) -> str:
    """The title of one word, for lists and subjects too."""
    if code is EarlyCode.SPINNING and "flat_s" in evidence:
        return STOPPED_TITLE
    if code is EarlyCode.ALL_GPUS_IDLE and is_interactive:
        return SESSION_TITLE
    return TITLES[code]


def _all_gpus_idle(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    idle, had_no_work = to_the_minute(seen["idle_s"]), _had_no_work(seen["gpus"])
    if job.is_interactive:
        return (f"Session {job.job_id} has not used its {counted(seen['gpus'], 'GPU')} for {idle}.",)
    if seen.get("worked_before"):
        ended = _when(seen["since_s"], job)
        return (f"{had_no_work} in the last {idle}. The last work ended{ended}.",)
    return (f"{had_no_work} in the {idle} since the start of the job.",)


def _cpu_only(seen: Evidence, _: EarlyJob) -> tuple[str, ...]:
    return (
        f"{_had_no_work(seen['gpus'])} in the {to_the_minute(seen['idle_s'])} since the start of the job,"
        f" while {seen['busy_cores']:.1f} of {counted(seen['cores_allocated'], 'CPU core')} were busy.",
        "If this prepares data, the GPUs will follow; otherwise the program may not have found them, or may be a"
        " version for CPUs.",
    )


def _some_gpus_unused(seen: Evidence, _: EarlyJob) -> tuple[str, ...]:
    return (
        f"{seen['unused_gpus']:,} of {counted(seen['gpus'], 'GPU')} had no work since the start of the job, for at"
        f" least {to_the_minute(seen['idle_s'])}, while {seen['working_gpus']:,} worked: {_shown(seen['gpu_list'])}.",
        "They are billed all the same. Check that one process starts for each GPU and that each process uses its own.",
    )


def _spinning(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    drew = ""
    if "power_w" in seen:
        drew = (
            f" and drew {seen['power_w']:.0f} W a module, {share(seen['power_fraction'])} of the cap of"
            f" {seen['cap_w']:.0f} W"
        )
    if "flat_s" in seen:
        return (
            f"The last step was logged{_when(seen['since_s'], job)}. In the {to_the_minute(seen['flat_s'])} after it no"
            f" step was logged, while the GPUs showed as busy{drew}.",
            "They wait: for another process, or in a loop that does not end.",
        )
    return (
        f"In the last {to_the_minute(seen['spinning_s'])} the GPUs showed as busy {percent(seen['busy_percent'])} of"
        f" the time{drew}.",
        "GPUs that compute draw more. They probably wait for a process that has stopped, in a loop that does not end.",
    )


def _host_memory_filling(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    return (
        f"On {_shown(seen['node'])} the job used {gigabytes(seen['now_gb'])} of {gigabytes(seen['limit_gb'])} of host"
        f" memory, and this grows by {gigabytes(seen['slope_gb_per_h'])} an hour.",
        f"If it goes on like this, memory is full {_full(seen, job)}, before"
        " the time limit, and the job is then ended. Save what you need, and look for lists or caches that grow.",
    )


def _gpu_memory_full(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    return (
        f"{counted(seen['full_gpus'], 'GPU')} of {seen['gpus']:,} ({_shown(seen['gpu_list'])}) used up to"
        f" {gigabytes(seen['now_gb'])} of {gigabytes(seen['limit_gb'])}, and this grows by"
        f" {gigabytes(seen['slope_gb_per_h'])} an hour.",
        f"If it goes on like this, memory is full {_full(seen, job)}. Memory"
        " that a framework keeps for reuse looks the same, so this is not certain to fail.",
    )


def _limit_too_short(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    ends = f", at {instant(job.ends_at)}" if job.ends_at else ""
    limit = f"The time limit ends the job after {duration(seen['time_limit_s'])}{ends}."
    needs = _between(seen["needs_s_low"], seen["needs_s_high"])
    if "steps_total" in seen:
        done, total = f"{seen['steps_done']:,.6g}", f"{seen['steps_total']:,.6g}"
        why = f"{done} of {total} {seen['unit']} were logged so far; at this speed all of them take {needs}."
    else:
        why = f"The last {seen['earlier_runs']:,} runs of the same work on {counted(seen['gpus'], 'GPU')} took {needs}."
    return why, f"{limit} Check that it can continue from a checkpoint, or ask support for a longer limit in time."


SENTENCES: Mapping[EarlyCode, Callable[[Evidence, EarlyJob], tuple[str, ...]]] = {
    EarlyCode.ALL_GPUS_IDLE: _all_gpus_idle,
    EarlyCode.CPU_ONLY: _cpu_only,
    EarlyCode.SOME_GPUS_UNUSED: _some_gpus_unused,
    EarlyCode.SPINNING: _spinning,
    EarlyCode.GPU_MEMORY_FULL: _gpu_memory_full,
    EarlyCode.HOST_MEMORY_FILLING: _host_memory_filling,
    EarlyCode.LIMIT_TOO_SHORT: _limit_too_short,
}
OF_COST = frozenset({EarlyCode.ALL_GPUS_IDLE, EarlyCode.CPU_ONLY, EarlyCode.SOME_GPUS_UNUSED, EarlyCode.SPINNING})
"""What goes on until the time limit if nothing happens."""


def _cost(code: EarlyCode, job: EarlyJob) -> tuple[str, ...]:
    """What the job used so far and could still use, where that is known."""
    if code not in OF_COST or job.gpu_hours_so_far is None:
        return ()
    so_far = f"So far the job has used {hours(job.gpu_hours_so_far)} GPU-hours"
    if job.gpu_hours_to_limit is None:
        return (f"{so_far}.",)
    return (f"{so_far}; until its time limit it would use up to {hours(job.gpu_hours_to_limit)} more.",)


def _possibility(code: EarlyCode, job: EarlyJob, command: str) -> Step:
    """What could be done, only as a possibility."""
    if job.is_interactive and code is EarlyCode.ALL_GPUS_IDLE:
        said = (
            "If you no longer need the session, you can end it from the page or terminal where you started it, or with"
            " this command. If you do, keep it: nothing is ended for you."
        )
    elif code in (EarlyCode.HOST_MEMORY_FILLING, EarlyCode.GPU_MEMORY_FULL, EarlyCode.LIMIT_TOO_SHORT):
        said = (
            "If its results would be lost, you can end the job and start it again with another request. This is your"
            " decision: nothing is cancelled for you."
        )
    else:
        said = (
            "If the job does not do what you want, you can end it. This is your decision: nothing is cancelled for you."
        )
    return Step(said, command)


def _measured(seen: Evidence, job: EarlyJob) -> tuple[str, ...]:
    """Until when the sentences hold: a look may be an hour old."""
    if "until_s" not in seen or job.started_at is None:
        return ()
    return (f"Measured until {_at(job.started_at, seen['until_s'])}.",)


def _full(seen: Evidence, job: EarlyJob) -> str:
    """When memory is full: as times of day where it is known until when was measured, else as a time from then."""
    low_s, high_s = seen["full_in_s_low"], seen["full_in_s_high"]
    if "until_s" not in seen or job.started_at is None:
        return f"in {_between(low_s, high_s)}"
    low, high = (_at(job.started_at, seen["until_s"] + after_s) for after_s in (low_s, high_s))
    return f"at about {low}" if low == high else f"between {low} and {high}"


def _at(started_at: datetime, after_s: float) -> str:
    return instant((started_at + timedelta(seconds=after_s)).astimezone(UTC))


def _had_no_work(gpus: int) -> str:
    return "The GPU of this job had no work" if gpus == 1 else f"None of the {gpus:,} GPUs had work"


def _when(since_s: float, job: EarlyJob) -> str:
    """When something was, as a time of day where the start is known."""
    if job.started_at is None:
        return f" {to_the_minute(since_s)} after the start"
    return f" at {_at(job.started_at, since_s)}"


def _between(low_s: float, high_s: float) -> str:
    """A range of time to the minute; one time where both read the same.

    >>> _between(3600.0, 5400.0), _between(3600.0, 3601.0)
    ('1 h 00 min to 1 h 30 min', 'about 1 h 00 min')
    """
    low, high = to_the_minute(low_s), to_the_minute(high_s)
    return f"about {low}" if low == high else f"{low} to {high}"


def _shown(text: str) -> str:
    """A name or list within a line, not longer than people read."""
    return shortened(" ".join(str(text).split()), GPUS_SHOWN_MAX)
