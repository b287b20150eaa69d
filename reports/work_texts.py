"""What is said of a work where only text fits: its best known request, how it scales, what advice saved."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.comparable import SAME_WORK_MAX
from analysis.scaling import Scaling
from analysis.thresholds import LIMITS
from reports.numbers import share, unbroken
from wire.numbers import counted, duration, gigabytes, hours, percent


@dataclass(frozen=True)
class RequestOrigin:
    """Where the request of a work comes from: the run, what it was billed and would have been billed as suggested.

    `typical_gpu_hours` is the median of the `completed` runs of its size, the fewest of `sizes`; of the `recent` last
    of them none needed more GPUs. `longest_s` is set where a run took longer than the limit as it was, `busy_cores` and
    `host_peak_gb` where one needed more than the report of this run gives.
    """

    job_id: int
    gpus: int
    is_changed: bool
    is_known: bool
    gpu_hours: float | None = None
    as_suggested_gpu_hours: float | None = None
    typical_gpu_hours: float = 0.0
    completed: int = 0
    recent: int = 0
    sizes: int = 1
    longest_s: float | None = None
    busy_cores: float | None = None
    host_peak_gb: float | None = None
    is_trial: bool = False
    is_other_work: bool = False


def best_request_text(origin: RequestOrigin) -> str:
    """Where the request of a work comes from, and which GPU-hours go with it.

    >>> same = RequestOrigin(7, 8, False, True, 2.0, None, 2.5, 3, 3, 2)
    >>> best_request_text(same).replace(chr(160), " ")
    'From job 7 on 8 GPUs: of the last 3 completed runs of this size none needed more GPUs. Runs of this size were \
billed 2.50 GPU-hours each (median of 3 completed runs), the fewest of 2 sizes.'
    >>> best_request_text(RequestOrigin(7, 8, True, True, 8.0, 2.0, 8.0, 1, 1)).replace(chr(160), " ")
    'From job 7 on 8 GPUs, with the changes that its report suggests: 2.00 GPU-hours instead of 8.00.'
    """
    return unbroken(" ".join(f"{part}." for part in _origin_parts(origin)))


def reason_text(origin: RequestOrigin) -> str:
    """The first part of the same: which run, and why that one.

    >>> reason_text(RequestOrigin(7, 8, True, True, recent=3)).replace(chr(160), " ")
    'From job 7 on 8 GPUs: of the last 3 completed runs of this size none needed more GPUs.'
    """
    return unbroken(f"{next(_origin_parts(origin))}.")


def _origin_parts(origin: RequestOrigin) -> Iterator[str]:
    if origin.is_trial:
        yield f"From trial {origin.job_id} on {counted(origin.gpus, 'GPU')}, the most that still scale"
        yield "Keep the time limit of a whole run"
    else:
        yield _run_and_need(origin)
        if origin.is_changed and origin.recent > 1:
            yield f"The changes that its report suggests are included{_billed(origin)}"
        if origin.completed > 1 or not origin.is_changed:
            yield _typical(origin)
        if origin.is_other_work:
            yield "Run times show that the sizes did different work, so the latest size counts, not the cheapest"
    if origin.longest_s is not None:
        yield f"The time limit is raised: one of these runs took {duration(origin.longest_s)}"
    if origin.busy_cores is not None:
        yield f"One of these runs kept {origin.busy_cores:.1f} cores busy, so the cores are for that one"
    if origin.host_peak_gb is not None:
        yield f"One of these runs needed {gigabytes(origin.host_peak_gb)} of host memory, so the memory is for that one"
    if not origin.is_known:
        yield "Its options are not known: these request what Slurm allocated"


def _run_and_need(origin: RequestOrigin) -> str:
    said = f"From job {origin.job_id} on {counted(origin.gpus, 'GPU')}"
    if origin.recent > 1:
        return f"{said}: of the last {origin.recent} completed runs of this size none needed more GPUs"
    return f"{said}, with the changes that its report suggests{_billed(origin)}" if origin.is_changed else said


def _billed(origin: RequestOrigin) -> str:
    if origin.gpu_hours is None or origin.as_suggested_gpu_hours is None:
        return ""
    return f": {hours(origin.as_suggested_gpu_hours)} GPU-hours instead of {hours(origin.gpu_hours)}"


def _typical(origin: RequestOrigin) -> str:
    runs = f"median of {counted(origin.completed, 'completed run')}" if origin.completed > 1 else "one completed run"
    said = f"Runs of this size were billed {hours(origin.typical_gpu_hours)} GPU-hours each ({runs})"
    return f"{said}, the fewest of {origin.sizes:,} sizes" if origin.sizes > 1 and not origin.is_other_work else said


def whole_work_text(gpus: int, job_id: int, recent: int) -> str:
    """What a work suggests beside the report of one of its runs, which suggests another number of GPUs.

    >>> whole_work_text(4, 17, 5).replace(chr(160), " ")
    'This is of this run alone: its work as a whole needs 4 GPUs (job 17; of the last 5 runs of that size none needed \
more).'
    """
    needs = counted(gpus, "GPU") if gpus else "no GPU"
    why = f"; of the last {recent} runs of that size none needed more" if recent > 1 else ""
    return unbroken(f"This is of this run alone: its work as a whole needs {needs} (job {job_id}{why}).")


def scaling_text(scaled: Scaling, follows: Iterable[str] = ()) -> str:
    """Up to which number of GPUs the work scales, or why not known; `follows` is the request that trials lead to."""
    return unbroken(" ".join([_scaling_text(scaled), *_of_trials(scaled, " ".join(follows))]))


def _of_trials(scaled: Scaling, follows: str) -> Iterator[str]:
    if scaled.unit:
        yield f"By measured throughput: the {scaled.unit} per second that the scripts logged."
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
    '4 runs followed advice, in full or in part: 12.5\\xa0GPU-hours less than before (3 of them can be compared).'
    """
    followed = f"{counted(runs, 'run')} followed advice, in full or in part"
    if not compared_runs:
        return f"{followed}; none of them can be compared with the run before."
    less = "less" if saved_gpu_hours >= 0 else "more"
    part = "" if compared_runs == runs else f" ({compared_runs:,} of them can be compared)"
    return unbroken(f"{followed}: {hours(abs(saved_gpu_hours))} GPU-hours {less} than before{part}.")
