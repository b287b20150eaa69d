"""What Slurm's record shows about the request and the end of the job."""

from analysis.causes.power import busy_but_waiting
from analysis.facts import JobFacts, run_seconds
from analysis.findings import Finding, FindingCode
from analysis.host_share import fitting_host
from analysis.phases import final_util_percent
from analysis.thresholds import LIMITS, Limits
from jobs.work_key import is_trial

# Names that Slurm and Open OnDemand give to interactive sessions (salloc(1), srun(1); LUMI web interface guide):
# salloc's own, the shell that srun starts, and the path of a dashboard's app.
INTERACTIVE_NAMES = frozenset("interactive salloc bash sh zsh csh tcsh fish jupyter jupyter-lab vscode".split())
DASHBOARD_PREFIX = "sys/dashboard/"


def timeout(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The time limit ended the job; whether the GPUs that worked did so to the end, or spun, decides the advice.

    A trial may reach its limit.
    """
    if facts.record.state != "TIMEOUT" or is_trial(facts.record.job_name):
        return None
    evidence: dict[str, float | int | str] = {
        "walltime_requested_s": facts.record.walltime_requested_s or facts.elapsed_s
    }
    if not facts.is_use_judged:
        return Finding(FindingCode.TIMEOUT, 1.0, evidence)
    final_percent = final_util_percent(facts)
    if final_percent is not None:
        evidence["final_util_percent"] = final_percent
        evidence["pattern"] = "busy" if final_percent >= limits.active_gpu_percent else "idle"
    if busy_but_waiting(facts, limits) is not None:
        evidence["pattern"] = "spinning"
    return Finding(FindingCode.TIMEOUT, 1.0, evidence)


def walltime_overrequest(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """A completed batch job used far less time than it requested."""
    record, used_s = facts.record, run_seconds(facts.record)
    requested_s = record.walltime_requested_s
    if record.state != "COMPLETED" or not requested_s or used_s <= limits.walltime_run_s or has_chosen_limit(facts):
        return None
    used_fraction = used_s / requested_s
    if used_fraction >= limits.walltime_used_fraction:
        return None
    return Finding(
        FindingCode.WALLTIME_OVERREQUEST,
        1.0,
        {"walltime_requested_s": requested_s, "walltime_used_s": used_s, "used_fraction": used_fraction},
    )


def cores_or_memory_beyond_share(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Cores or host memory beyond what comes with the GPUs raise the bill of a shared partition, and were not used."""
    fitting = fitting_host(facts, limits)
    if fitting is None:
        return None
    evidence: dict[str, float | int | str] = {
        "gpus": facts.allocated_gpus,
        "billed_slices": fitting.slices_now,
        "needed_slices": fitting.slices,
    }
    if fitting.memory_gb is not None:
        evidence |= {"memory_gb": facts.held.memory_gb, "peak_memory_gb": fitting.peak_memory_gb}
    if fitting.cores is not None:
        evidence |= {"cores": facts.held.cores, "busy_cores": fitting.busy_cores}
    return Finding(
        FindingCode.CORES_OR_MEMORY_BEYOND_SHARE,
        1.0,
        evidence,
    )


def has_chosen_limit(facts: JobFacts) -> bool:
    """Whether the limit was set for something else than the length of the work: a session, or a trial of some size."""
    return is_interactive(facts) or is_trial(facts.record.job_name)


def is_interactive(facts: JobFacts) -> bool:
    """Whether the job was interactive, so that unused walltime is no finding."""
    name = facts.record.job_name.lower()
    return name in INTERACTIVE_NAMES or name.startswith(DASHBOARD_PREFIX)
