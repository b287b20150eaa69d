"""An attacker who knows how many answers each person gave and what some of them answered, and sees what is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import msgspec

from analysis.answers.figures import answers_of
from analysis.site.suppression import POOLED_PEOPLE


def what_is_read(counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every (people who pool what they know, person whose answers follow from it and what is shown).

    All ways in which these people can have answered are tried: how often "wrong" is what an attacker wants to know.
    """
    ways_by_shown: dict[bytes, list[tuple[int, ...]]] = defaultdict(list)
    for wrong in product(*(range(count + 1) for count in counts)):
        given = [(count - some, some) for count, some in zip(counts, wrong, strict=True)]
        ways_by_shown[msgspec.json.encode(answers_of("timeout", given))].append(wrong)
    for ways in ways_by_shown.values():
        for pool in combinations(range(len(counts)), POOLED_PEOPLE):
            by_known: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
            for way in ways:
                by_known[tuple(way[person] for person in pool)].append(way)
            for agreeing in by_known.values():
                for target in set(range(len(counts))) - set(pool):
                    if len({way[target] for way in agreeing}) == 1:
                        yield pool, target
