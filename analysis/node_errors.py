"""What the collectors of a run could not do, in sentences for its owner; nothing in them names another job."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.shown_text.joiners import shortened
from metrics.payloads import without_other_jobs
from wire.numbers import counted

KINDS_MAX = 10
"""The most different errors that a report lists, for people to read."""
TEXT_LENGTH_MAX = 160
OF_OTHER_JOBS = "before on this node"
"""How a collector marks errors before this job (`collector.failures`): they are not shown to its owner."""
NUMBER = r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)"


@dataclass(frozen=True)
class Wording:
    """How a report shows a text of the collector; `{text}`, `{number}` and `{times}` are taken from it."""

    pattern: re.Pattern[str]
    words: str


def _wording(pattern: str, words: str) -> Wording:
    return Wording(re.compile(pattern, re.DOTALL), words)


# The texts of `collector.summary`, `collector.closing`, `collector.epilog` and `metrics.payloads`, the most serious
# first; the last one matches every other text of a collector.
WORDINGS: tuple[Wording, ...] = (
    _wording(
        "not sampled: no prolog ran for this job on this node",
        "nothing was measured: the collector was not started for this job",
    ),
    _wording("not sampled: (?P<text>.+)", "nothing was measured: {text}"),
    _wording(
        f"the sampling process hung or was killed: the last {NUMBER} s of the job were not measured",
        "the collector hung or was killed: the last {number} s of the job were not measured",
    ),
    _wording(
        "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end",
        "the end of the job was not seen: the measurements stop where they were last saved",
    ),
    _wording("the sampling process ended with an error: (?P<text>.+)", "the collector ended with an error: {text}"),
    _wording(
        "GPU (?P<text>[0-9, ]+) was another job's as well for some of the time: its use is of both",
        "another job also had GPU {text} for part of the time: the measured use includes both jobs",
    ),
    _wording(f"sampling stood still for {NUMBER} s", "sampling paused for {number} s"),
    _wording(f"{NUMBER} times a reading hung and was cut off", "a reading hung and was aborted {times}"),
    _wording(f"the collector was restarted {NUMBER} times", "the collector restarted {times} during the job"),
    _wording(f"{NUMBER} checkpoints could not be written", "the collector could not save its measurements {times}"),
    _wording("interval_s: not possible: (?P<text>.+)", "the sampling interval is not known: {text} is not possible"),
    _wording("(?P<text>.+)", "the collector reports “{text}”"),
)


@dataclass
class _Seen:
    """The nodes with the same error, and the numbers in it."""

    nodes: set[str] = field(default_factory=set)
    numbers: list[float] = field(default_factory=list)


def node_errors(said: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Each different error of `(node, text)` once, the most serious first, with its nodes and the range of its numbers.

    >>> node_errors([("nid1", "sampling stood still for 31 s"), ("nid2", "sampling stood still for 4 s")])
    ('On 2 nodes: sampling paused for 4 to 31 s',)
    """
    seen: dict[tuple[int, str], _Seen] = defaultdict(_Seen)
    for node, raw in said:
        text = without_other_jobs(raw.strip())
        if text and not text.startswith(OF_OTHER_JOBS):
            place, shown, number = _read(text)
            seen[place, shown].nodes.add(node)
            seen[place, shown].numbers += number
    kinds = sorted(seen, key=lambda kind: (kind[0], -len(seen[kind].nodes), kind[1]))
    lines = [f"On {_where(seen[kind].nodes)}: {_sentence(*kind, seen[kind].numbers)}" for kind in kinds[:KINDS_MAX]]
    rest = kinds[KINDS_MAX:]
    if rest:
        count = len(set[str]().union(*(seen[kind].nodes for kind in rest)))
        lines.append(f"On {counted(count, 'node')}: {len(rest):,} more errors of the collector")
    return tuple(lines)


def _read(text: str) -> tuple[int, str, list[float]]:
    """The wording of a text, and the values that it takes from it."""
    matches = ((place, wording.pattern.fullmatch(text)) for place, wording in enumerate(WORDINGS))
    place, parts = next((place, found.groupdict()) for place, found in matches if found)
    text = shortened(parts.get("text", ""), TEXT_LENGTH_MAX)
    return place, text, [float(parts["number"])] if "number" in parts else []


def _sentence(place: int, text: str, numbers: list[float]) -> str:
    shown = _range(numbers) if numbers else ""
    times = "once" if shown == "1" else f"{shown} times"
    return WORDINGS[place].words.format(text=text, number=shown, times=times)


def _range(numbers: list[float]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:.9g}" if low == high else f"{low:.9g} to {high:.9g}"


def _where(nodes: set[str]) -> str:
    return next(iter(nodes)) if len(nodes) == 1 else counted(len(nodes), "node")
