"""What is said of a work where only text fits: its best known request, how it scales, what advice saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.comparable import SAME_WORK_MAX
from analysis.scaling import Scaling
from analysis.thresholds import LIMITS
from reports.numbers import counted, hours, percent, share, unbroken


def best_request_text(
    job_id: int, gpu_hours: float, completed: int, requests: int, *, is_changed: bool, is_known: bool
) -> str:
    """Where the best known request comes from; `is_changed` by advice, `is_known` whether its options are.

    >>> best_request_text(7, 2.5, 3, 2, is_changed=False, is_known=True).replace(chr(160), " ")
    'Job 7: 2.50 GPU-hours per run (median of 3 completed runs), the fewest of 2 allocations.'
    """
    runs = f"median of {counted(completed, 'completed run')}" if completed > 1 else "one completed run"
    said = f"Job {job_id}: {hours(gpu_hours)} GPU-hours per run ({runs})"
    if requests > 1:
        said += f", the fewest of {requests:,} allocations"
    parts = [said]
    if is_changed:
        parts.append("The changes that its report suggests are included")
    if not is_known:
        parts.append("Its options are not known: these request what Slurm allocated")
    return unbroken(". ".join(parts) + ".")


def scaling_text(scaled: Scaling, follows: Iterable[str] = ()) -> str:
    """Up to which number of GPUs the work scales, or why not known; `follows` is the request that trials lead to."""
    return unbroken(" ".join([_scaling_text(scaled), *_of_trials(scaled, " ".join(follows))]))


def _of_trials(scaled: Scaling, follows: str) -> Iterator[str]:
    if scaled.is_trials:
        yield "Measured by trials, which are compared with each other only."
    cut = [f"{counted(gpus, 'GPU')} {percent(use)}" for gpus, _, use in scaled.cut_trials if use is not None]
    if cut:
        yield f"Trials that reached their time limit show GPU use, but no run time: {', '.join(cut)}."
    if follows:
        yield f"The request that follows; keep the time limit of a whole run: {follows}"


def _scaling_text(scaled: Scaling) -> str:
    if scaled.too_fast is not None:
        return (
            f"Per GPU, {counted(scaled.too_fast.gpus, 'GPU')} were more than {share(SAME_WORK_MAX)} as fast as"
            f" {counted(scaled.smallest.gpus, 'GPU')}: these runs did different work, so nothing follows about how it"
            " scales."
        )
    if scaled.knee is not None:
        return f"{_knee(scaled, scaled.knee.gpus)}{_doubt(scaled)}"
    if scaled.counts:
        only = counted(scaled.smallest.gpus, "GPU")
        return f"All comparable runs had {only}. How the work scales shows on another number of GPUs."
    minutes = f"{LIMITS.short_job_s / 60:.0f} min"
    return f"No run can be compared yet: it takes completed runs of {minutes} or more."


def _knee(scaled: Scaling, gpus: int) -> str:
    target, fewest = f"{LIMITS.target_percent:.0f} % of the speed per GPU", counted(scaled.smallest.gpus, "GPU")
    if gpus == scaled.smallest.gpus:
        return f"More than {fewest} keep less than {target} of {fewest}."
    if gpus == scaled.counts[-1].gpus:
        return f"Up to {counted(gpus, 'GPU')}, the most that were tried, keep at least {target} of {fewest}."
    return f"Up to {counted(gpus, 'GPU')} keep at least {target} of {fewest}."


def _doubt(scaled: Scaling) -> str:
    if scaled.is_noisy:
        return " Runs on the same number of GPUs differ by more than a factor of two, so this is only a hint."
    return " Some numbers of GPUs have one run only: another run may change this." if scaled.is_single else ""


def saved_text(runs: int, compared_runs: int, saved_gpu_hours: float) -> str:
    """What following advice brought, below zero where it cost more.

    >>> saved_text(4, 3, 12.5)
    '4 runs followed advice: 12.5\\xa0GPU-hours less than before (3 of them can be compared).'
    """
    followed = f"{counted(runs, 'run')} followed advice"
    if not compared_runs:
        return f"{followed}; none of them can be compared with the run before."
    less = "less" if saved_gpu_hours >= 0 else "more"
    part = "" if compared_runs == runs else f" ({compared_runs:,} of them can be compared)"
    return unbroken(f"{followed}: {hours(abs(saved_gpu_hours))} GPU-hours {less} than before{part}.")
