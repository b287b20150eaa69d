"""A batch script as Slurm reads it: its components, what sets each option, and what is wrong or surprising."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wire.sbatch.words import Word

REMARKS_MAX = 100
"""Remarks kept of each kind: a hostile script gives no endless list."""

CLUSTER_DECIDES = tuple(
    "account batch bb clusters cluster constraint dependency exclude licenses nodelist partition prefer qos"
    " reservation wckey".split()
)
"""Options whose values only a cluster can judge."""
ANSWERED = frozenset({"account", "partition"})
"""Those of them of which the portal knows."""
NOT_READ = ("bbf", "export-file", "network", "nodefile", "ntasks-per-tres", "power", "tres-bind", "tres-per-task")
"""Options whose values are not judged here: files, and what depends on hardware or newer versions of Slurm."""


class Remark(NamedTuple):
    """A refusal or a warning: a stable code, the line of the script (0 is no line), and a sentence for people."""

    code: str
    line: int
    sentence: str


class Setting(NamedTuple):
    """One place that sets an option.

    `value` is Slurm's normal form, None where Slurm refuses it. `source` is "script", "PBS", "LSF", "environment" or
    "arguments"; `origin` is the word or the variable. In a script, `word` is the option's word with its letter at
    `letter_at` (0 for a long option), and the value begins at `value_at` of `value_word`.
    """

    option: str
    value: str | None
    source: str
    line: int
    origin: str
    word: Word | None = None
    letter_at: int = 0
    value_word: Word | None = None
    value_at: int = 0


class Line(NamedTuple):
    """A line of the script: its number from 1, and its place without the line end."""

    number: int
    start: int
    end: int


class Component:
    """One component of a job; an ordinary job has one.

    `options` are those that Slurm considers set, `{"gpus-per-node": "mi250:8", "requeue": "requeue"}`, as its
    cli_filter reports them. `settings` are all places that set one, in the order in which sbatch reads them;
    `winner[option]` is the last. An option that is inherited from an earlier component has no place here.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.lines: list[Line] = []
        """Its directive lines; of a later component the first is its `hetjob`."""
        self.settings: list[Setting] = []
        self.options: dict[str, str] = {}
        self.winner: dict[str, Setting] = {}
        self.inherited: frozenset[str] = frozenset()

    def last_line(self, options: Iterable[str]) -> int:
        """The last line that sets one of these options; 0 where none does."""
        return max((self.winner[name].line for name in options if name in self.winner), default=0)


class Script:
    """What Slurm makes of a script with its environment and arguments."""

    def __init__(self, text: str, version: str) -> None:
        self.text = text
        self.version = version
        self.components: list[Component] = [Component(0)]
        self.refusals: list[Remark] = []
        self.warnings: list[Remark] = []
        self.recorded: int | None = None
        """How many components sbatch has options of when it refuses: it reads and checks one after the other. None
        where it reads all of them."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """Options that are set and that only a cluster can judge, such as the name of a partition."""
        names = [name for name in CLUSTER_DECIDES if any(name in each.options for each in self.components)]
        return (*names, "gres") if self._has_other_resources else tuple(names)

    @property
    def unchecked(self) -> list[str]:
        """Options that are set, whose values neither this nor the portal's answer judges."""
        found = {name for name in NOT_READ if any(name in each.options for each in self.components)}
        return sorted(found | (set(self.undecided) - ANSWERED))

    @property
    def _has_other_resources(self) -> bool:
        """Whether one is requested that is no GPU."""
        resources = [name for each in self.components for name in each.options.get("gres", "").split(",") if name]
        return any(re.split("[:=]", name.removeprefix("gres/"))[0] not in ("gpu", "none") for name in resources)

    def refuse(self, code: str, line: int, sentence: str, recorded: int | None = 0) -> None:
        """Adds a refusal, after which sbatch has the options of `recorded` components (None: of all)."""
        if recorded is not None:
            self.recorded = recorded if self.recorded is None else min(self.recorded, recorded)
        if len(self.refusals) < REMARKS_MAX:
            self.refusals.append(Remark(code, line, _printable(sentence)))

    def warn(self, code: str, line: int, sentence: str) -> None:
        if len(self.warnings) < REMARKS_MAX:
            self.warnings.append(Remark(code, line, _printable(sentence)))

    def warn_not_read(self, line: int, words: int) -> None:
        """A header so long that Slurm reads more of it than is read here."""
        sentence = f"Line {line}: only the first {words:,} words of the directives are read here; Slurm reads them all."
        self.warn("too_many", line, sentence)


def _printable(sentence: str) -> str:
    """The sentence without what a terminal could take for a command: it quotes words of the script."""
    return "".join(letter if letter.isprintable() else "?" for letter in sentence)
