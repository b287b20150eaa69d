"""How right early words are, on running jobs whose true words were written before any rule judged them.

Whole runs are cut at 10, 30 and 60 minutes (noisy library, real runs), or at the moments for which a situation's words
were written. Run by `make score`; `python -m bench.early_score --list wrong` names every word that was wrong, `--list
missed` every due one that was not sent.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from analysis.early.rules import early_findings
from bench.early.facts import facts_of
from bench.early.pairs import Pair, library_pairs, real_pairs, situation_pairs
from bench.early.truth import CODES
from bench.noisy_score import Bin, calibration

PRECISION_MIN = 0.98
"""Of what is sent, over each of the libraries: an early word interrupts somebody."""
SEEDS = 1
LISTS = ("wrong", "missed")


@dataclass(frozen=True)
class Sent:
    """One word that was sent: how sure it was, and whether it was due, right beside, or wrong."""

    name: str
    at_s: float
    code: str
    confidence: float
    is_inferred: bool
    is_due: bool
    is_right: bool

    def __str__(self) -> str:
        return f"{self.name} at {self.at_s:g} s: {self.code} at {self.confidence:.2f}"


@dataclass
class EarlyScore:
    """What was sent, and which due words were not, over some pairs; GPU-hours as `Pair.unused_gpu_hours`."""

    pairs: int = 0
    sent: list[Sent] = field(default_factory=list)
    missed: list[tuple[str, float, str]] = field(default_factory=list)

    def count(self, pair: Pair) -> None:
        name, at_s, words = pair.cut.course.name, pair.cut.at_s, pair.words
        found = {finding.code.value: finding for finding in early_findings(facts_of(pair))}
        self.pairs += 1
        self.sent += [
            Sent(name, at_s, code, one.confidence, not one.is_fact, code in words.must, code in words.must | words.may)
            for code, one in found.items()
        ]
        self.missed += [(name, at_s, code) for code in sorted(words.must - set(found))]

    @property
    def wrong(self) -> list[Sent]:
        return [word for word in self.sent if not word.is_right]

    @property
    def precision(self) -> float:
        return 1 - len(self.wrong) / len(self.sent) if self.sent else 1.0

    @property
    def recall(self) -> float:
        """Of the words that were due; a word that was only right beside is none of them."""
        due = sum(word.is_due for word in self.sent)
        return due / (due + len(self.missed)) if due + len(self.missed) else 1.0

    def only(self, keep: Callable[[str, float, str], bool]) -> EarlyScore:
        """The words of some runs (by name), cuts and codes."""
        return EarlyScore(
            self.pairs,
            [word for word in self.sent if keep(word.name, word.at_s, word.code)],
            [word for word in self.missed if keep(*word)],
        )

    @property
    def bins(self) -> list[Bin]:
        """Stated and observed rates of the words that were inferred."""
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
    card = EarlyScore()
    for pair in pairs:
        card.count(pair)
    return card


def is_kept_back(name: str) -> bool:
    """Whether a situation belongs to the half that rules are not tuned on."""
    return zlib.crc32(name.encode()) % 2 == 1


def table(card: EarlyScore) -> Iterator[str]:
    """A line for each code and cut with any word, then for all of them."""
    yield f"{'code':22}{'at':>8}{'due':>6}{'sent':>6}{'right':>7}{'wrong':>7}{'missed':>8}{'precision':>11}{'recall':>8}"
    moments = sorted({word.at_s for word in card.sent} | {at_s for _, at_s, _ in card.missed})
    for code in CODES:
        few = len(moments) <= 3
        for at_s in moments if few else ():
            yield from _row(code, f"{at_s / 60:g} min", card.only(lambda _, s, c, at=at_s, k=code: s == at and c == k))
        yield from _row(code, "all", card.only(lambda _, __, c, k=code: c == k))
    yield from _row("all", "all", card)


def _row(code: str, at: str, card: EarlyScore) -> Iterator[str]:
    due = sum(word.is_due for word in card.sent)
    if not card.sent and not card.missed:
        return
    counts = f"{due + len(card.missed):6}{len(card.sent):6}{len(card.sent) - len(card.wrong):7}{len(card.wrong):7}"
    yield f"{code:22}{at:>8}{counts}{len(card.missed):8}{card.precision:11.3f}{card.recall:8.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds each noisy case is drawn with")
    parser.add_argument("--list", choices=LISTS, help="name each such word")
    parser.add_argument("--half", choices=("tuned", "kept"), help="only one half of the situations, and nothing else")
    asked = parser.parse_args(arguments)
    situations = score(situation_pairs())
    tuned, kept = (
        situations.only(lambda name, _, __, back=back: is_kept_back(name) == back) for back in (False, True)
    )
    parts = {"situations, tuned on": tuned, "situations, kept back": kept}
    if asked.half:
        parts = {"situations": kept if asked.half == "kept" else tuned}
    else:
        parts["real runs"] = score(real_pairs())
        parts["noisy runs"] = score(pair for seed in range(asked.seeds) for pair in library_pairs(seed))
    failures: list[str] = []
    for what, card in parts.items():
        print("\n".join([f"{what}: {card.pairs} cuts", *table(card), *_bins(card), ""]))
        named = card.wrong if asked.list == "wrong" else card.missed if asked.list == "missed" else []
        print("\n".join(f"  {word if isinstance(word, Sent) else '%s at %g s: %s' % word}" for word in named))
        failures += card.failures(what)
    print("\n".join(f"below the limit: {line}" for line in failures))
    return 1 if failures else 0


def _bins(card: EarlyScore) -> Iterator[str]:
    for one in card.bins:
        yield f"inferred at {one.low:.1f} to {one.high:.1f}: {one.count} words, stated {one.stated:.2f}, right {one.observed:.2f}"


if __name__ == "__main__":
    sys.exit(main())
