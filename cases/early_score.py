"""How right early words are, on running jobs whose true words were written before any rule judged them.

Whole runs are cut at 10, 30 and 60 minutes (noisy library, real runs), or at the moments for which a situation's words
were written. The author of an examination knew neither the rules nor the other situations; the second one was written
when the first had been used to correct the rules. Run by `make score`; `python -m cases.early_score --list wrong` names
every word that was wrong, `--list missed` every due one that was not sent.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from analysis.early.rules import early_findings
from cases.early.cost import Silence, noise
from cases.early.facts import facts_of
from cases.early.pairs import (
    Pair,
    examination_pairs,
    library_pairs,
    real_pairs,
    second_examination_pairs,
    situation_pairs,
)
from cases.early.truth import CODES
from cases.noisy_score import Bin, calibration

PRECISION_MIN = 0.98
"""Of what is sent, over each of the libraries: an early word interrupts somebody."""
SEEDS = 1
LISTS = ("wrong", "missed")
CUTS_SHOWN_MAX = 3
LIMITED = frozenset({"situations", "examination", "second examination", "real runs", "noisy runs"})


@dataclass(frozen=True)
class Sent:
    """A word that holds at a cut: how sure it is, and whether it is due, right beside, or wrong.

    `is_first`: it holds for the first time in this run, and is sent. It is shown as long as it holds.
    """

    name: str
    at_s: float
    code: str
    confidence: float
    is_inferred: bool
    is_due: bool
    is_right: bool
    is_first: bool

    def __str__(self) -> str:
        return f"{self.name} at {self.at_s:g} s: {self.code} at {self.confidence:.2f}"


@dataclass
class EarlyScore:
    """What was said, and which due words were not, over some pairs that come in the order of their cuts."""

    pairs: int = 0
    said: list[Sent] = field(default_factory=list)
    missed: list[tuple[str, float, str]] = field(default_factory=list)
    known: set[tuple[str, int, str]] = field(default_factory=set)
    held: dict[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    right_only_corrected: int = 0

    def count(self, pair: Pair, draw: int = 0) -> None:
        name, at_s, words = pair.cut.course.name, pair.cut.at_s, pair.words
        held = self.held.get((name, draw), frozenset())
        found = {finding.code.value: finding for finding in early_findings(facts_of(pair, held))}
        self.held[name, draw] = frozenset(found)
        self.pairs += 1
        for code, one in found.items():
            is_right, is_first = code in words.must | words.may, (name, draw, code) not in self.known
            self.said.append(
                Sent(name, at_s, code, one.confidence, not one.is_fact, code in words.must, is_right, is_first)
            )
            first = pair.first_words
            self.right_only_corrected += is_first and is_right and code not in first.must | first.may
            self.known.add((name, draw, code))
        self.missed += [(name, at_s, code) for code in sorted(words.must - set(found))]

    def said_of(self, pair: Pair, draw: int) -> list[str]:
        """The words that were sent of a run until now."""
        return [code for code in CODES if (pair.cut.course.name, draw, code) in self.known]

    @property
    def sent(self) -> list[Sent]:
        """Each word of a run once, when it first held: what people get."""
        return [word for word in self.said if word.is_first]

    @property
    def wrong(self) -> list[Sent]:
        return [word for word in self.sent if not word.is_right]

    @property
    def precision(self) -> float:
        """Of what is sent."""
        return 1 - len(self.wrong) / len(self.sent) if self.sent else 1.0

    @property
    def precision_first(self) -> float:
        """The same by the expectations before any correction."""
        return self.precision - self.right_only_corrected / max(len(self.sent), 1)

    @property
    def precision_shown(self) -> float:
        """Of all that is shown at any cut, a word as often as it holds."""
        return sum(word.is_right for word in self.said) / len(self.said) if self.said else 1.0

    @property
    def due(self) -> int:
        return sum(word.is_due for word in self.said) + len(self.missed)

    @property
    def recall(self) -> float:
        """Of the words that were due at each cut, whether they were sent then or before."""
        return 1 - len(self.missed) / self.due if self.due else 1.0

    def only(self, keep: Callable[[str, float, str], bool]) -> EarlyScore:
        """The words of some runs (by name), cuts and codes."""
        return EarlyScore(
            self.pairs,
            [word for word in self.said if keep(word.name, word.at_s, word.code)],
            [word for word in self.missed if keep(*word)],
        )

    @property
    def bins(self) -> list[Bin]:
        """Stated and observed rates of the words that were inferred and sent."""
        return calibration((word.confidence, word.is_right) for word in self.sent if word.is_inferred)

    def failures(self, what: str) -> Iterator[str]:
        if self.precision < PRECISION_MIN:
            yield f"{what}: precision {self.precision:.3f}"
        yield from (
            f"{what}: stated {one.stated:.2f}, right {one.observed:.2f} of {one.count} words"
            for one in self.bins
            if one.is_off
        )


def score(pairs: Iterable[Pair]) -> EarlyScore:
    """Each run at each of its cuts."""
    card = EarlyScore()
    for pair in pairs:
        card.count(pair)
    return card


def noisy_score(seeds: Iterable[int]) -> tuple[EarlyScore, Silence]:
    """The noisy library, each case drawn once for each seed, and what silence leaves idle there."""
    card, silence = EarlyScore(), Silence()
    for seed in seeds:
        for pair in library_pairs(seed):
            card.count(pair, seed)
            silence.count(pair, card.said_of(pair, seed))
    return card, silence


def is_kept_back(name: str) -> bool:
    """Whether a situation belongs to the half that rules are not tuned on."""
    return zlib.crc32(name.encode()) % 2 == 1


def table(card: EarlyScore) -> Iterator[str]:
    """A line for each code and cut with any word, then for all of them; of very many cuts only for all."""
    head = f"{'code':22}{'at':>8}{'due':>6}{'said':>6}{'sent':>6}{'right':>7}{'wrong':>7}{'missed':>8}"
    yield f"{head}{'precision':>11}{'recall':>8}"
    moments = sorted({word.at_s for word in card.said} | {at_s for _, at_s, _ in card.missed})
    for code in CODES:
        for at_s in moments if len(moments) <= CUTS_SHOWN_MAX else ():
            yield from _row(code, f"{at_s / 60:g} min", card.only(_at(code, at_s)))
        yield from _row(code, "all", card.only(_at(code, None)))
    yield from _row("all", "all", card)
    yield f"{card.pairs:,} cuts; of what is shown as long as it holds {card.precision_shown:.3f} is right"
    if card.right_only_corrected:
        yield f"{card.right_only_corrected} sent right only after a correction: before {card.precision_first:.3f}"
    for one in card.bins:
        counts = f"{one.count} words, stated {one.stated:.2f}, right {one.observed:.2f}"
        yield f"inferred at {one.low:.1f} to {one.high:.1f}: {counts}"


def _at(code: str, at_s: float | None) -> Callable[[str, float, str], bool]:
    def keep(_: str, second: float, one: str) -> bool:
        return one == code and at_s in (None, second)

    return keep


def _row(code: str, at: str, card: EarlyScore) -> Iterator[str]:
    if not card.said and not card.missed:
        return
    sent, wrong = len(card.sent), len(card.wrong)
    counts = f"{card.due:6}{len(card.said):6}{sent:6}{sent - wrong:7}{wrong:7}{len(card.missed):8}"
    yield f"{code:22}{at:>8}{counts}{card.precision:11.3f}{card.recall:8.3f}"


def halves(card: EarlyScore) -> dict[str, EarlyScore]:
    """The situations that rules may be tuned on, and those that they were not."""
    return {
        "situations, tuned on": card.only(lambda name, _, __: not is_kept_back(name)),
        "situations, kept back": card.only(lambda name, _, __: is_kept_back(name)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds each noisy case is drawn with")
    parser.add_argument("--list", choices=LISTS, help="name each such word")
    parser.add_argument("--tuned", action="store_true", help="only the situations that rules may be tuned on")
    asked = parser.parse_args(arguments)
    situations = score(situation_pairs())
    parts = halves(situations)
    if asked.tuned:
        parts.pop("situations, kept back")
    else:
        parts["situations"] = situations
        parts["examination"] = score(examination_pairs())
        parts["second examination"] = score(second_examination_pairs())
        parts["real runs"] = score(real_pairs())
        parts["noisy runs"], silence = noisy_score(range(asked.seeds))
    failures: list[str] = []
    for what, card in parts.items():
        print("\n".join([what, *table(card), *_named(card, asked.list), ""]))
        # Each half has too few words for a limit of its own.
        failures += card.failures(what) if what in LIMITED else []
    if not asked.tuned:
        print("\n".join([*silence.table(), *noise().table()]))
    print("\n".join(f"below the limit: {line}" for line in failures))
    return 1 if failures else 0


def _named(card: EarlyScore, asked: str | None) -> Iterator[str]:
    if asked == "wrong":
        yield from (f"  {word}" for word in card.wrong)
    if asked == "missed":
        yield from (f"  {name} at {at_s:g} s: {code}" for name, at_s, code in card.missed)


if __name__ == "__main__":
    sys.exit(main())
