"""Names of single GPUs of a run, for people."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from analysis.facts import JobFacts

NODES_NAMED_MAX = 6


def gpu_list(facts: JobFacts, chosen: NDArray[np.bool_]) -> str:
    """The chosen GPUs `(G,)` by node, at most six nodes: "nid005123: 1-7; nid005124: 0, 4-7"."""
    pairs = sorted(zip(facts.gpus.node_index[chosen].tolist(), facts.gpus.gpu_id[chosen].tolist(), strict=True))
    by_node = [(node, [gpu for _, gpu in group]) for node, group in groupby(pairs, key=lambda pair: pair[0])]
    named = [f"{facts.nodes[node]}: {number_ranges(gpus)}" for node, gpus in by_node[:NODES_NAMED_MAX]]
    unnamed = len(by_node) - len(named)
    return "; ".join([*named, f"and {unnamed} more nodes"] if unnamed else named)


def number_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as ranges.

    >>> number_ranges([0, 4, 5, 6, 7])
    '0, 4-7'
    """
    runs = groupby(enumerate(numbers), key=lambda item: item[1] - item[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(group) for _, group in runs)]
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)
