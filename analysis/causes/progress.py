"""What logged runs show beside the use of the GPUs: progress that stopped, a loss that is no number, pauses."""

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode, counted
from analysis.progress.logged import BusyTime, JobClock
from analysis.progress.not_numbers import loss_not_a_number
from analysis.progress.pauses import step_pauses_of
from analysis.progress.rates import Stretch, Throughput, rates_of
from analysis.progress.stops import stayed_busy, stopped, use_changed
from analysis.thresholds import LIMITS, Limits


def flat_progress(facts: JobFacts, limits: Limits, *, is_power_low: bool | None) -> dict[str, float | int | str] | None:
    """How long busy GPUs went on without a step until the job ended without success, as evidence; None where they did
    not, or where the points may just have been lost.

    Power that is not known (`is_power_low` None) is replaced by use that became steady when the steps stopped. Where
    power is low, use that stayed as it was speaks against it.
    """
    if not facts.logged or is_power_low is False or facts.record.state == "COMPLETED":
        return None
    clock = clock_of(facts)
    if clock is None:
        return None
    stop = stopped(facts.logged, clock, limits)
    busy = busy_time(facts)
    if stop is None or not stayed_busy(stop, busy, clock, limits):
        return None
    changed = use_changed(stop, busy, clock)
    if changed is False or (is_power_low is None and changed is None):
        return None
    return {
        "flat_s": stop.silent_s,
        "flat_fraction": stop.silent_s / facts.elapsed_s,
        "since_s": stop.since_s,
        **_with_cost(facts, stop.silent_s),
    }


def loss_is_nan(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The loss was no number any more, and the GPUs went on for minutes or hours."""
    clock = clock_of(facts)
    lost = loss_not_a_number(facts.logged, clock, limits) if clock else None
    if lost is None:
        return None
    use = busy_time(facts).between(lost.since_s, lost.since_s + lost.lasted_s)
    if not use.size or float(use.mean()) < limits.active_gpu_percent:
        return None
    return Finding(
        FindingCode.LOSS_IS_NAN,
        counted(facts.coverage_fraction),
        {
            "metric": lost.name,
            "step": lost.step,
            "since_s": lost.since_s,
            "nan_s": lost.lasted_s,
            "nan_fraction": min(lost.lasted_s / facts.elapsed_s, 1.0),
            **_with_cost(facts, lost.lasted_s),
        },
    )


def step_pauses(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Steps paused again and again, and GPU use dipped with them."""
    clock = clock_of(facts)
    found = step_pauses_of(facts.logged, clock, busy_time(facts), limits) if clock else None
    if found is None:
        return None
    return Finding(
        FindingCode.STEP_PAUSES,
        counted(facts.coverage_fraction),
        {
            "pauses": found.count,
            "paused_s": found.total_s,
            "typical_s": found.typical_s,
            "paused_fraction": min(found.fraction, 1.0),
            "working_percent": found.working_percent,
            "paused_percent": found.paused_percent,
            **_with_cost(facts, found.total_s),
        },
    )


def throughput_of(facts: JobFacts) -> Throughput | None:
    """Samples a second of the only run in a job that made steps, of all its GPUs; None where that is not known.

    Steps of an unknown batch are no throughput: with more GPUs a step may have more samples.
    """
    clock = clock_of(facts)
    if clock is None:
        return None
    stretch = Stretch(clock.start_ms, clock.start_ms + round(clock.elapsed_s * 1000), facts.allocated_gpus or None)
    found = [rates for run in facts.logged if (rates := rates_of(run.series, run.params, stretch)) is not None]
    return found[0].samples if len(found) == 1 else None


def clock_of(facts: JobFacts) -> JobClock | None:
    """The clock of a job in which something was logged; None where nothing was, or its start is not known."""
    if not facts.logged or facts.record.started_at is None or facts.elapsed_s <= 0:
        return None
    return JobClock(round(facts.record.started_at.timestamp() * 1000), facts.elapsed_s)


def busy_time(facts: JobFacts) -> BusyTime:
    """The mean use of the GPUs that worked, over the job."""
    return BusyTime(facts.series.step_s, facts.working_use)


def _with_cost(facts: JobFacts, seconds: float) -> dict[str, float | int | str]:
    """The billed GPU-hours of so many seconds of the job, where there is a price."""
    if facts.gpu_hours is None or facts.elapsed_s <= 0:
        return {}
    return {"gpu_hours_since": facts.gpu_hours * min(seconds / facts.elapsed_s, 1.0)}
