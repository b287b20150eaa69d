"""Every GPU and node of a run as measured: the nodes that were used least first, some at a time, found by name.

The GPUs of a node are in the same order, those that were not measured last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.series import HOST_COLUMNS, RunMetrics

NODES_A_PAGE = 8
WORD_LENGTH_MAX, DIGITS_MAX = 64, 6
GPU_COLUMNS = ("avg_util", "p95_util", "idle_s", "peak_mem_gb", "mem_total_gb", "power_avg_w")
WHOLE_NUMBERS = ("cores_allocated", "ranks", "oom_kills")


@dataclass(frozen=True)
class NodeRows:
    """One node: the mean use of its GPUs, each of them, and its host side; None is not measured."""

    name: str
    mean_percent: float | None
    gpus: tuple[dict[str, object], ...]
    host: dict[str, object] | None


@dataclass(frozen=True)
class NodePage:
    """The nodes of one page, of those whose name holds `word`; `is_asked` where somebody searched or turned pages.

    `measured_nodes` of all are those with a GPU that was measured.
    """

    nodes: tuple[NodeRows, ...]
    word: str
    number: int
    pages: int
    found: int
    all_nodes: int
    measured_nodes: int
    all_gpus: int
    is_asked: bool

    @property
    def numbers(self) -> range:
        """Of every page."""
        return range(1, self.pages + 1)

    @property
    def has_hosts(self) -> bool:
        return any(node.host for node in self.nodes)


def node_page(measured: RunMetrics, run_nodes: Sequence[str], query: Mapping[str, str]) -> NodePage:
    """What `?node=` (part of a name) and `?nodes=` (a page) ask for; nodes that sent nothing are there too."""
    word, asked = query.get("node", "").strip()[:WORD_LENGTH_MAX], query.get("nodes", "")
    means = _means(measured)
    silent = [name for name in run_nodes if name not in set(measured.nodes)]
    order = [*(measured.nodes[place] for place in np.argsort(means, kind="stable").tolist()), *silent]
    found = [name for name in order if word.lower() in name.lower()]
    pages = max(-(-len(found) // NODES_A_PAGE), 1)
    number = min(max(int(asked), 1), pages) if asked.isdecimal() and len(asked) <= DIGITS_MAX else 1
    shown = found[(number - 1) * NODES_A_PAGE : number * NODES_A_PAGE]
    places = {name: place for place, name in enumerate(measured.nodes)}
    rows = tuple(_rows(measured, name, places.get(name), means) for name in shown)
    return NodePage(
        rows,
        word,
        number,
        pages,
        found=len(found),
        all_nodes=len(order),
        measured_nodes=len(np.unique(measured.gpus.node_index)),
        all_gpus=measured.gpus.count,
        is_asked=bool(word or asked),
    )


def _means(measured: RunMetrics) -> np.ndarray:
    """Mean use of each node `(N,)`; NaN, which sorts last, where none of its GPUs was measured."""
    util, nodes = measured.gpus.avg_util, measured.gpus.node_index
    is_known = ~np.isnan(util)
    sums = np.bincount(nodes[is_known], weights=util[is_known], minlength=len(measured.nodes))
    counts = np.bincount(nodes[is_known], minlength=len(measured.nodes))
    means: np.ndarray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def _rows(measured: RunMetrics, name: str, place: int | None, means: np.ndarray) -> NodeRows:
    if place is None:
        return NodeRows(name, None, (), None)
    gpus = measured.gpus
    of_node = np.flatnonzero(gpus.node_index == place)
    least_used = of_node[np.argsort(gpus.avg_util[of_node], kind="stable")]
    shown: tuple[dict[str, object], ...] = tuple(
        {"gpu_id": int(gpus.gpu_id[row])} | {name: _number(name, getattr(gpus, name)[row]) for name in GPU_COLUMNS}
        for row in least_used.tolist()
    )
    host: dict[str, object] = {
        column: _number(column, getattr(measured.hosts, column)[place]) for column in HOST_COLUMNS
    }
    is_measured = any(value is not None for value in host.values())
    return NodeRows(name, _number("mean", means[place]), shown, host if is_measured else None)


def _number(name: str, value: float) -> float | None:
    if np.isnan(value):
        return None
    return int(value) if name in WHOLE_NUMBERS else float(value)
