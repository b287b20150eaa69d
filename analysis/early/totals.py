"""How far a logged run is and how far it has to go: its counter, and the total that its parameters name; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.early.thresholds import EarlyLimits
from analysis.progress.counter import Counter, counter_by_values, step_counter
from analysis.progress.logged import JobClock, LoggedRun, within_job
from analysis.progress.names import EPOCH_NAMES, STEP_NAMES, Unit, is_of_evaluation, words_of
from jobs.experiments.points import Floats

TOTAL_WORDS = frozenset({"max", "total", "num", "n", "train", "training", "trainer", "nb", "number", "of", "args"})
"""Words beside steps or epochs in the name of a total."""
CHECK_WORDS = frozenset({"max", "total", "num", "n", "nb", "number", "train"})
"""One of these must be there for steps: `steps` alone may be those between two things."""
NOT_RUN_TO_THE_END = frozenset({"early", "patience", "resume", "resumed", "restart", "requeue"})
"""Words of parameters of runs that end before their total, or go on in a next job."""
OFF = frozenset({"", "none", "false", "0", "no", "null", "-1"})
TOTAL_MAX = 10**9


@dataclass(frozen=True)
class Progress:
    """A counter on the job's clock, `(P,)` each, and its total; a counter of epochs may be off by one."""

    unit: Unit
    at_s: Floats
    counts: Floats
    total: float
    slack: float

    @property
    def left(self) -> float:
        """How much is left at least."""
        return self.total - float(self.counts[-1]) - self.slack


def progress_of(run: LoggedRun, clock: JobClock, limits: EarlyLimits) -> Progress | None:
    """How far a run is; None where its total is not known, or where it may end before it by design."""
    if any(_is_on(name, text) for name, text in run.params.items()):
        return None
    series = within_job(run, clock)
    for unit, counter in (
        (Unit.STEPS, step_counter(series)),
        (Unit.EPOCHS, counter_by_values(series, Unit.EPOCHS)),
    ):
        totals = set(_totals(run.params, unit))
        if counter is None or counter.unit is not unit or len(totals) != 1:
            continue
        progress = _progress(counter, clock, totals.pop())
        if progress.counts.size >= limits.limit_points_min:
            return progress
    return None


def _progress(counter: Counter, clock: JobClock, total: float) -> Progress:
    at_s = (counter.times_ms - clock.start_ms) / 1000
    slack = 1.0 if counter.unit is Unit.EPOCHS else 0.0
    return Progress(counter.unit, at_s, counter.counts, total, slack)


def _totals(params: Mapping[str, str], unit: Unit) -> Iterator[float]:
    """What parameters name as the number of all steps, or epochs.

    >>> list(_totals({"max_steps": "20000", "save_steps": "500", "num_train_epochs": "3.0"}, Unit.STEPS))
    [20000.0]
    >>> list(_totals({"max_steps": "-1", "num_train_epochs": "3.0"}, Unit.EPOCHS))
    [3.0]
    """
    nouns = STEP_NAMES if unit is Unit.STEPS else EPOCH_NAMES
    for name, text in params.items():
        words = words_of(name)
        if not words or words[-1] not in {*nouns, "iters"} or is_of_evaluation(name):
            continue
        rest = set(words[:-1])
        if rest <= TOTAL_WORDS and (rest & CHECK_WORDS or unit is Unit.EPOCHS) and (total := _number(text)):
            yield total


def _number(text: str) -> float | None:
    cleaned = text.strip().replace("_", "")
    try:
        number = float(cleaned)
    except ValueError:
        return None
    return number if 0 < number <= TOTAL_MAX else None


def _is_on(name: str, text: str) -> bool:
    """Whether a parameter says that a run may end early or go on later."""
    return not NOT_RUN_TO_THE_END.isdisjoint(words_of(name)) and text.strip().lower() not in OFF
