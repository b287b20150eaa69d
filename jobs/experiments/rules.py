"""What a name, parameter, tag, time or value of a run may be, and which jobs a run is linked to; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.experiments.limits import (
    KEY_LENGTH_MAX,
    NAME_LENGTH_MAX,
    PARAM_LENGTH_MAX,
    PARAMS_MAX,
    TAG_LENGTH_MAX,
    TAGS_MAX,
    TEXTS_LENGTH_MAX,
)
from jobs.experiments.points import STEP_MAX, Point
from jobs.records import SYSTEM_FAILURES
from wire.safe_text import printable, printable_lines
from wire.times import YEARS

Problem = tuple[str, str]
AHEAD_MAX = timedelta(days=1)
"""Of a script's clock: one that keeps local time as if it were UTC is at most fourteen hours ahead."""

CLOCKS_APART = timedelta(minutes=2)
"""Between the clocks of a node, of Slurm and of the portal."""

EARLIEST_MS = int(datetime(YEARS.start, 1, 1, tzinfo=UTC).timestamp() * 1000)

JOB_TAGS = ("slurm.job_id", "SLURM_JOB_ID", "slurm_job_id")
"""Tags by which scripts state their job, as in the guides of sites that run Slurm."""

NAME_TAG = "mlflow.runName"
"""The tag by which MLflow's clients name a run; it is stored as the name alone."""

JOB_DIGITS_MAX = 16


class NotAccepted(ValueError):
    """What a script reported and cannot be accepted; `problems` are `(path, message)`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{path}: {message}" if path else message for path, message in self.problems))


class NoSuchRun(NotAccepted):
    """There is no such run of this person."""

    def __init__(self) -> None:
        super().__init__([("run_id", "there is no such run of yours")])


class NoSuchExperiment(NotAccepted):
    """There is no such experiment of this person."""

    def __init__(self) -> None:
        super().__init__([("experiment_id", "there is no such experiment of yours")])


class NameTaken(NotAccepted):
    """This person has an experiment of that name."""

    def __init__(self) -> None:
        super().__init__([("name", "you have an experiment with this name")])


@dataclass(frozen=True)
class Attempt:
    """One recorded attempt of a job, as far as a run is linked by it."""

    pk: int
    attempt: int
    state: str
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def may_go_on(self) -> bool:
        """Whether the system ended it, so that Slurm may start the job again as another attempt."""
        return self.state in SYSTEM_FAILURES


def shown_name(text: str) -> str:
    """A name as it is stored: in one line, visible, of a sensible length.

    >>> shown_name("  two\\nlines ")
    'two�lines'
    """
    return printable(text.strip())[:NAME_LENGTH_MAX]


def experiment_name(text: str) -> str:
    """The name of an experiment as it is stored. Raises NotAccepted."""
    if not text.strip():
        raise NotAccepted([("name", "must not be empty")])
    if len(text.strip()) > NAME_LENGTH_MAX:
        raise NotAccepted([("name", f"must have at most {NAME_LENGTH_MAX} characters")])
    return shown_name(text)


def job_number(text: str) -> int | None:
    """The number of a job; None for anything else.

    >>> job_number("123456"), job_number("0"), job_number("12a"), job_number("9" * 30)
    (123456, None, None, None)
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= JOB_DIGITS_MAX
    return (int(text) or None) if is_number else None


def with_params(known: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """The parameters with new ones. Raises NotAccepted where one has another value already, or is too much."""
    found, new = _text_problems("params", new, PARAM_LENGTH_MAX), _visible(new)
    changed = [name for name, value in new.items() if name in known and known[name] != value]
    found += [(f"params.{name}", "has another value already; parameters do not change") for name in changed]
    return _together(known, new, PARAMS_MAX, "params", found)


def with_tags(known: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """The tags with new ones, which replace earlier values. Raises NotAccepted where it is too much."""
    return _together(known, _visible(new), TAGS_MAX, "tags", _text_problems("tags", new, TAG_LENGTH_MAX))


def flat_texts(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A configuration as text by name; members of objects are named by their path. Raises NotAccepted where two members
    get the same name.

    >>> flat_texts({"model": {"depth": 12, "bias": None}, "sizes": [1, 2], "name": "vit", "amp": True})
    {'model.depth': '12', 'model.bias': 'null', 'sizes': '[1, 2]', 'name': 'vit', 'amp': 'true'}
    """
    found: dict[str, str] = {}
    for name, member in value.items():
        is_nested = isinstance(member, Mapping) and member
        texts = flat_texts(member, f"{prefix}{name}.") if is_nested else {f"{prefix}{name}": as_text(member)}
        if twice := sorted(found.keys() & texts.keys()):
            raise NotAccepted([(f"config.{printable(one[:KEY_LENGTH_MAX])}", "is there twice") for one in twice[:9]])
        found |= texts
    return found


def as_text(value: Any) -> str:
    """A JSON value as a table shows it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Sequence):
        return "[" + ", ".join(as_text(member) for member in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {as_text(member)}" for name, member in value.items()) + "}"
    return f"{value}"


def point_problems(point: Point, path: str) -> list[Problem]:
    """Why a point cannot be stored; its time is not among the reasons (`is_timely`)."""
    found = []
    if not point.name.strip() or len(point.name) > KEY_LENGTH_MAX:
        found.append((f"{path}name", f"must have 1 to {KEY_LENGTH_MAX} characters"))
    if not -STEP_MAX <= point.step <= STEP_MAX:
        found.append((f"{path}step", "must be a whole number of at most 2^53"))
    return found


def is_timely(time_ms: int, now: datetime) -> bool:
    """Whether a point can be of that time: not of a clock that is not set, nor of seconds sent as milliseconds."""
    return EARLIEST_MS <= time_ms <= (now + AHEAD_MAX).timestamp() * 1000


def is_possible(at: datetime | None, now: datetime) -> bool:
    """Whether a run may have started or ended then."""
    return at is None or (at.year >= YEARS.start and at <= now + AHEAD_MAX)


def attempts_of_run(attempts: Sequence[Attempt], began_at: datetime, heard_at: datetime) -> list[Attempt]:
    """The attempts of a stated job that the run was in: those that ran while its script reported; the last if none did.

    >>> at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    >>> first = Attempt(1, 0, "REQUEUED", at, at + timedelta(hours=1))
    >>> second = Attempt(2, 1, "COMPLETED", at + timedelta(hours=2), at + timedelta(hours=5))
    >>> [found.pk for found in attempts_of_run([first, second], at + timedelta(hours=3), at + timedelta(hours=4))]
    [2]
    >>> [found.pk for found in attempts_of_run([first, second], at + timedelta(minutes=1), at + timedelta(hours=4))]
    [1, 2]
    """
    there = [
        attempt
        for attempt in attempts
        if (attempt.started_at is None or attempt.started_at <= heard_at + CLOCKS_APART)
        and (attempt.ended_at is None or attempt.ended_at >= began_at - CLOCKS_APART)
    ]
    return there or sorted(attempts, key=lambda attempt: attempt.attempt)[-1:]


def _text_problems(path: str, texts: Mapping[str, str], length_max: int) -> list[Problem]:
    found, names = [], set[str]()
    for name, value in texts.items():
        shown = f"{path}.{printable(name[:KEY_LENGTH_MAX])}"
        if printable(name) in names:
            found.append((shown, "is the name of two, once what cannot be shown is replaced"))
        names.add(printable(name))
        if not name.strip() or len(name) > KEY_LENGTH_MAX:
            found.append((shown, f"a name must have 1 to {KEY_LENGTH_MAX} characters"))
        if len(value) > length_max:
            found.append((shown, f"must have at most {length_max:,} characters"))
    return found


def _visible(texts: Mapping[str, str]) -> dict[str, str]:
    return {printable(name): printable_lines(value) for name, value in texts.items()}


def _together(
    known: Mapping[str, str], new: Mapping[str, str], count_max: int, path: str, found: list[Problem]
) -> dict[str, str]:
    together = {**known, **new}
    if len(together) > count_max:
        found.append((path, f"a run has at most {count_max:,} of them"))
    if sum(len(name) + len(value) for name, value in together.items()) > TEXTS_LENGTH_MAX:
        found.append((path, f"must have at most {TEXTS_LENGTH_MAX:,} characters together"))
    if found:
        raise NotAccepted(found)
    return together
