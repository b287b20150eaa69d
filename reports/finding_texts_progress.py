"""The sentences of findings from logged runs: progress that stopped, a loss that is no number, pauses between steps."""

from jobs.shown_text.joiners import shortened, without_stray_marks
from reports.numbers import share
from reports.run_view import Evidence, Run
from wire.numbers import duration, hours, percent

METRIC_SHOWN_MAX = 60


def flat_counter(seen: Evidence, run: Run) -> str:
    """Busy GPUs without a step until the job ended: counted, so it says neither perhaps nor how sure it is."""
    drew = (
        f", at {share(seen['power_fraction'])} of the power cap on average over the run"
        if "power_fraction" in seen
        else ""
    )
    across = "a collective across nodes" if run.nodes > 1 else "another process"
    return (
        f"The last step was logged {duration(seen['since_s'])} after the start. In the {duration(seen['flat_s'])} until"
        f" the job ended no further step was logged, and the GPUs showed as busy{drew}{_cost(seen)}. They waited, for"
        f" {across} or in a loop that does not end. Compare the last lines that each rank wrote, and let the program"
        " end when no step was made for some time."
    )


def loss_is_nan(seen: Evidence, _: Run) -> str:
    """From which step on the loss was no number, and what the run cost from then."""
    return (
        f"“{_shown(seen['metric'])}” was not a finite number from step {seen['step']:,} on, {duration(seen['since_s'])}"
        f" after the start, and never again. The GPUs went on for {duration(seen['nan_s'])}{_cost(seen)}. Stop the"
        " program at the first such value, and continue from the last good checkpoint with a lower learning rate or"
        " gradient clipping."
    )


def step_pauses(seen: Evidence, _: Run) -> str:
    """How often steps paused, and that GPU use was low because of it."""
    return (
        f"Steps paused {seen['pauses']:,} times, for {duration(seen['typical_s'])} in a usual pause and"
        f" {duration(seen['paused_s'])} ({share(seen['paused_fraction'])}) in all{_cost(seen)}. GPU use was"
        f" {percent(seen['working_percent'])} between the pauses and {percent(seen['paused_percent'])} in them, so they"
        " explain these dips. Evaluation, checkpoints and loading data pause like this: do them less often, in the"
        " background, or on the GPUs."
    )


def _cost(seen: Evidence) -> str:
    """The GPU-hours of that time, where there is a price."""
    return f" ({hours(seen['gpu_hours_since'])} GPU-hours)" if "gpu_hours_since" in seen else ""


def _shown(name: str) -> str:
    """The name of a metric as its script wrote it, within a line."""
    return shortened(without_stray_marks(" ".join(name.split())), METRIC_SHOWN_MAX)
