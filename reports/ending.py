"""How a run ended, in words: beside its class, in its headline, and in mail."""

from analysis.facts import run_seconds
from analysis.thresholds import LIMITS
from jobs.records import SYSTEM_FAILURES, JobRecord
from wire.numbers import duration

COMPLETED = "COMPLETED"
SHORT_JOB = f"{LIMITS.short_job_s / 60:g} minutes"
SIGNAL_BASE = 128
"""A shell reports a process that signal n ended as exit code 128 + n (POSIX, "Exit Status for Commands")."""
SIGNALS_MAX = 64
OUT_OF_MEMORY_CODE = 125
"""Not a real signal: the low seven bits of Slurm's own SIG_OOM, 253 (slurm.h)."""
LABELS = {
    "TIMEOUT": "time limit reached",
    "OUT_OF_MEMORY": "out of host memory",
    "CANCELLED": "cancelled",
    "DEADLINE": "deadline reached",
}
CRASHES = frozenset({"FAILED", "OUT_OF_MEMORY"})


def exit_words(exit_code: str) -> str:
    """Slurm's `code:signal` in words, empty for success or where it is not known.

    >>> exit_words("1:0"), exit_words("0:9"), exit_words("137:0"), exit_words("0:0")
    ('exit code 1', 'signal 9', 'exit code 137, which means signal 9', '')
    >>> exit_words("0:125")
    "Slurm's code for lack of host memory"
    """
    code, _, signal = exit_code.partition(":")
    if signal.isdigit() and int(signal) == OUT_OF_MEMORY_CODE:
        return "Slurm's code for lack of host memory"
    if signal.isdigit() and int(signal):
        return f"signal {int(signal)}"
    if not code.isdigit() or not int(code):
        return ""
    by_signal = int(code) - SIGNAL_BASE
    meaning = f", which means signal {by_signal}" if 0 < by_signal <= SIGNALS_MAX else ""
    return f"exit code {int(code)}{meaning}"


def label(record: JobRecord) -> str:
    """A few words beside the class; empty for a run that completed."""
    return ending_of(record.state, record.exit_code)


def ending_of(state: str, exit_code: str) -> str:
    """The same where only these two are at hand.

    >>> ending_of("FAILED", "137:0"), ending_of("TIMEOUT", "0:0"), ending_of("COMPLETED", "0:0")
    ('failed (exit code 137, which means signal 9)', 'time limit reached', '')
    """
    if state == COMPLETED:
        return ""
    if state in SYSTEM_FAILURES:
        return "ended by the system"
    if state == "FAILED":
        words = exit_words(exit_code)
        return f"failed ({words})" if words else "failed"
    return LABELS.get(state, state.replace("_", " ").lower())


def predicate(record: JobRecord) -> str:
    """How the job ended, to follow "Your job"; empty for a run that completed."""
    after = f"after {duration(run_seconds(record))}"
    if record.state == COMPLETED:
        return ""
    if record.is_system_failure:
        return f"was ended by the system ({record.state}) {after}"
    if record.state == "FAILED":
        words = exit_words(record.exit_code)
        return f"ended with {words} {after}" if words else f"failed {after}"
    if record.state == "TIMEOUT":
        return f"reached its time limit of {duration(record.walltime_requested_s or run_seconds(record))}"
    said = {"OUT_OF_MEMORY": "ran out of host memory", "CANCELLED": "was cancelled", "DEADLINE": "reached its deadline"}
    return f"{said.get(record.state, f'ended as {record.state}')} {after}"


def is_crash(state: str, run_s: float | None) -> bool:
    """Whether a run failed, ran out of memory, or was cancelled within minutes.

    >>> is_crash("FAILED", None), is_crash("CANCELLED", 99.0), is_crash("CANCELLED", 7200.0), is_crash("TIMEOUT", 99.0)
    (True, True, False, False)
    """
    was_cancelled_early = state == "CANCELLED" and run_s is not None and run_s < LIMITS.early_end_s
    return state in CRASHES or was_cancelled_early
