"""The texts of a report without a cause: what was ruled out, and what to try next."""

from collections.abc import Iterator

from analysis.thresholds import LIMITS
from reports.ending import exit_words
from reports.numbers import share
from reports.run_view import Evidence, Run
from reports.vendor import Tools
from wire.numbers import counted, duration, percent


def without_cause(seen: Evidence, run: Run) -> str:
    """The sentences of a run that failed, or that used its GPUs little, for no visible reason."""
    if seen.get("pattern") == "failed":
        return (
            f"The program {_failed(seen)} after {duration(seen['elapsed_s'])}, and nothing that was recorded shows why."
            " What to try: read the last lines of its output and error files, and repeat the failing step in"
            f" {run.short_test}."
        )
    gpus = seen.get("gpus", 1)
    subject = "The GPU was" if gpus == 1 else f"The {counted(gpus, 'GPU')} were"
    sentences = [f"{subject} busy {percent(seen.get('avg_util_percent'))} of the time, and no known pattern matches."]
    if seen.get("state") == "FAILED":
        sentences.append(f"The program {_failed(seen)}: read the last lines of its output first.")
    sentences += [
        _ruled_out(seen),
        *_one_core(seen, run.tools),
        *_one_gpu(seen, gpus),
        f"What to try: {'; '.join(_steps(seen, gpus, run))}.",
    ]
    return " ".join(sentences)


def waits(seen: Evidence) -> str:
    """How long a host waited for files, where that was measured."""
    parts = []
    if "io_pressure_fraction" in seen:
        parts.append(f"I/O pressure {share(seen['io_pressure_fraction'])} of the time")
    if "iowait_fraction" in seen:
        parts.append(f"I/O wait {share(seen['iowait_fraction'])} of the cores")
    return ", ".join(parts)


def _failed(seen: Evidence) -> str:
    words = exit_words(str(seen.get("exit_code", "")))
    return f"ended with {words}" if words else "failed"


def _ruled_out(seen: Evidence) -> str:
    """What was measured and is not the reason."""
    checks = (
        ("peak_memory_fraction", LIMITS.memory_pressure_fraction, "full GPU memory ({} at most)"),
        ("busy_host_fraction", LIMITS.busy_host_fraction, "busy CPU cores ({} of them)"),
        ("power_fraction", 1.0, "the power limit ({} of the cap)"),
    )
    parts = [
        words.format(share(seen[name])) for name, limit, words in checks if name in seen and float(seen[name]) < limit
    ]
    waited = max(float(seen.get(name, 0.0)) for name in ("io_pressure_fraction", "iowait_fraction"))
    if waits(seen) and waited < LIMITS.io_wait_fraction:
        parts.append(f"waiting for files ({waits(seen)})")
    if not parts:
        return "Memory, CPU cores, power and file access were not measured, so none of them is ruled out."
    return f"Ruled out: {', '.join(parts)}."


def _one_core(seen: Evidence, tools: Tools) -> Iterator[str]:
    if "busy_cores_per_rank" in seen:
        yield (
            f"Each rank kept about one CPU core busy ({seen['busy_cores_per_rank']:.2f}): waiting in MPI and"
            f" {tools.runtime} looks like this, and so does a serial part that is the bottleneck."
        )


def _one_gpu(seen: Evidence, gpus: int) -> Iterator[str]:
    if "summed_util_percent" in seen:
        yield (
            f"Together the {counted(gpus, 'GPU')} were as busy as one GPU at {percent(seen['summed_util_percent'])}:"
            " GPUs that work one after another, such as those of a model split by layers, look like this."
        )


def _steps(seen: Evidence, gpus: int, run: Run) -> Iterator[str]:
    """Steps from cheap to thorough, none that the GPU memory of the run forbids."""
    yield f"look at a running job with {run.tools.look}"
    if gpus > 1:
        if run.room.fits_half is not False:
            fits = "" if run.room.fits_half else ", if its data fits their memory,"
            yield f"run once on {counted(gpus // 2, 'GPU')}{fits} and compare the run times"
        yield "check that each rank is bound to the CPU cores next to its GPU"
    if float(seen.get("peak_memory_fraction", 1.0)) * 2 <= LIMITS.memory_fill_fraction:
        yield "let two of these programs share a GPU: together they fit its memory"
    yield LARGER_STEPS[run.room.can_grow]
    yield f"profile a few minutes with {run.tools.profiler}"


LARGER_STEPS = {
    True: "use a larger batch or more work for each step",
    False: "give each step more work that needs no more GPU memory",
    None: "use a larger batch or more work for each step, if it fits GPU memory",
}
