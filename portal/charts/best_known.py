"""The request of a work as lines to copy, with where it comes from: the same on every page and in every call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.next_request import bill
from analysis.scaling import Scaling, knee_run, scaling
from analysis.works.best_request import (
    RUNS_MAX,
    BestRequest,
    Options,
    advised,
    best_request,
    gpus_of_work,
    is_spelling_known,
    is_without_gpu_use,
    lines_of,
    options_of,
    with_host_for,
    with_time_for,
)
from analysis.works.differences import changed_options
from analysis.works.runs import PastRun
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import READING_ORDER, OptionChange, shape_of
from jobs.sbatch_values import gpu_options
from reports.request_diff import DiffLine, added_lines
from reports.work_texts import RequestOrigin

Advice = Sequence[tuple[Sequence[OptionChange], Options]]


@dataclass(frozen=True)
class BestKnown:
    """`request` is the whole request; `changes` what the report of `run` suggests and the request already has.

    `is_own` says whether these are the person's own options; `best` where it comes from, None where it is the request
    of a trial. `longer_time` is how its time limit was raised, because a run took longer; empty where it was not.
    `more_host` is how cores and host memory were raised over those of the report, because another run needed more;
    `more_gpu_hours` is what the run would have been billed more for that. `other` is the latest completed run where it
    used no GPU and its own report suggests another request. `script` is what changes in the request of the latest run;
    empty where that is not comparable line by line, and where it is the same (`is_requested`).
    """

    run: PastRun
    request: Mapping[str, str]
    changes: tuple[str, ...]
    best: BestRequest | None
    is_own: bool
    longer_time: str = ""
    more_host: tuple[str, ...] = ()
    more_gpu_hours: float = 0.0
    other: PastRun | None = None
    script: tuple[str, ...] = ()
    is_requested: bool = False

    @property
    def lines(self) -> tuple[DiffLine, ...]:
        """The whole request as lines of a script."""
        return added_lines(self.options)

    @property
    def options(self) -> Options:
        """The whole request as options."""
        return lines_of(self.request)

    @property
    def is_new(self) -> bool:
        """Whether no run had this request: more than its time limit is new."""
        return any(not change.split(" -> ")[-1].startswith("--time") for change in self.changes)

    @property
    def is_suggested(self) -> bool:
        """Whether no whole run had this request."""
        return self.is_new or self.best is None

    @property
    def as_suggested_gpu_hours(self) -> float | None:
        """What the run would have been billed as suggested, by its report; None where that states no saving."""
        if not self.is_new or self.run.gpu_hours is None or not self.run.saved_gpu_hours:
            return None
        billed = self.run.gpu_hours - self.run.saved_gpu_hours + self.more_gpu_hours
        return billed if billed < self.run.gpu_hours else None

    @property
    def gpus(self) -> int:
        """The GPUs of this request."""
        return gpus_of_work(self.best) if self.best else self.run.gpus or 0


def best_known(runs: Sequence[PastRun], advice_of: Callable[[int], Advice]) -> BestKnown | None:
    """The request of the work that has these runs, the latest first; None where no request is known."""
    latest = runs[:RUNS_MAX]
    trial = deciding_trial(latest, scaling(latest))
    if trial is not None:
        request = _without_time(trial)
        return BestKnown(trial, request, (), None, is_spelling_known(trial), **_of_script(latest, request))
    best = best_request(latest)
    if best is None:
        return None
    own = _with_latest_time(options_of(best.run), latest)
    suggested = own if best.was_tried else advised(own, advice_of(best.run.pk))
    roomy = with_host_for(suggested, best)
    wanted = with_time_for(roomy, best.longest_s, best.run)
    return BestKnown(
        run=best.run,
        request=wanted,
        changes=changed_options(own, roomy),
        best=best,
        is_own=is_spelling_known(best.run),
        longer_time="".join(changed_options(roomy, wanted)),
        more_host=changed_options(suggested, roomy),
        more_gpu_hours=_billed(best.run, roomy) - _billed(best.run, suggested),
        other=_other(latest, wanted, advice_of) if best.without_gpu_use else None,
        **_of_script(latest, wanted),
    )


def origin_of(known: BestKnown) -> RequestOrigin:
    """Where the request comes from."""
    best, run = known.best, known.run
    if best is None:
        return RequestOrigin(run.job_id, run.gpus or 0, is_changed=False, is_known=known.is_own, is_trial=True)
    return RequestOrigin(
        job_id=run.job_id,
        gpus=run.gpus or 0,
        is_changed=bool(known.changes),
        is_known=known.is_own,
        gpu_hours=run.gpu_hours,
        as_suggested_gpu_hours=known.as_suggested_gpu_hours,
        typical_gpu_hours=best.gpu_hours,
        completed=best.completed,
        recent=best.recent,
        sizes=best.sizes,
        longest_s=best.longest_s if known.longer_time else None,
        busy_cores=best.busy_cores if any("--cpus" in line for line in known.more_host) else None,
        host_peak_gb=best.host_peak_gb if any("--mem" in line for line in known.more_host) else None,
        is_other_work=best.is_other_work,
    )


def deciding_trial(runs: Sequence[PastRun], scaled: Scaling) -> PastRun | None:
    """The trial on as many GPUs as still scale, until a whole run on as many has completed after it."""
    trial = knee_run(runs, scaled)
    if trial is None:
        return None
    later = (run for run in runs if run.is_comparable and run.gpus == trial.gpus and run.ended_at > trial.ended_at)
    return None if any(later) else trial


def without_time(trial: PastRun | None) -> Options:
    """The lines of a trial's request without its time limit, which is short on purpose."""
    return lines_of(_without_time(trial)) if trial else ()


def _without_time(trial: PastRun) -> dict[str, str]:
    options = options_of(trial)
    # PostgreSQL stores the options of a run in an order of its own.
    return {option: options[option] for option in READING_ORDER if option in options and option != "--time"}


def _with_latest_time(request: Mapping[str, str], latest_first: Sequence[PastRun]) -> dict[str, str]:
    """The request with the time limit of the latest run that completed: which run needed most says nothing of that."""
    timed = (run.request["--time"] for run in latest_first if run.is_comparable and "--time" in run.request)
    time = next(timed, "")
    return dict(request) | ({"--time": time} if time and "--time" in request else {})


def _billed(run: PastRun, request: Mapping[str, str]) -> float:
    """GPU-hours of a run of the same length with this request; 0 where that is not known."""
    partition = partition_of(run.cluster, request.get("--partition", run.partition))
    shape = shape_of(request, partition, None, threads_per_core(run.cluster))
    billed = None if shape is None or run.elapsed_s is None else bill(partition, shape, run.elapsed_s)
    return billed or 0.0


def _of_script(latest_first: Sequence[PastRun], wanted: Mapping[str, str]) -> dict[str, Any]:
    """What changes in the request of the latest run; the lines of a trial's request keep the time limit."""
    latest = next((run for run in latest_first if not run.is_trial), None)
    if latest is None or not is_spelling_known(latest):
        return {}
    kept = {"--time": latest.request["--time"]} if "--time" in latest.request and "--time" not in wanted else {}
    changed = changed_options(latest.request, dict(wanted) | kept)
    is_alike = set(gpu_options(latest.request)) == set(gpu_options(wanted))
    return {"script": changed if is_alike else (), "is_requested": not changed}


def _other(runs: Sequence[PastRun], wanted: Mapping[str, str], advice_of: Callable[[int], Advice]) -> PastRun | None:
    """The latest completed run, if it used no GPU and its report suggests something else; `runs` are latest first."""
    latest = next(run for run in runs if run.is_comparable)
    if not is_without_gpu_use(latest):
        return None
    advice = advice_of(latest.pk)
    return latest if advice and advised(options_of(latest), advice) != wanted else None
