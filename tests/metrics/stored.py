"""What a node summary holds, read and changed by tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from metrics.models import NodeSummary
from metrics.packed_node import Series, pack, unpack_figures, unpack_series


def stored_gpus(**of_node: Any) -> list[dict[str, Any]]:
    """Every GPU of the nodes with these columns, as the numbers that are kept of it."""
    rows = NodeSummary.objects.filter(**of_node).order_by("node")
    return [gpu for row in rows for gpu in unpack_figures(row.figures).gpus()]


def stored_hosts(**of_node: Any) -> list[dict[str, Any]]:
    """The host of each of these nodes that told of one."""
    rows = NodeSummary.objects.filter(**of_node).order_by("node")
    told = ((row.node, unpack_figures(row.figures)) for row in rows)
    return [{"node": node, **figures.host_numbers()} for node, figures in told if figures.host is not None]


def stored_series(**of_node: Any) -> Iterator[Series]:
    for row in NodeSummary.objects.filter(**of_node).order_by("node"):
        yield unpack_series(row.series, len(unpack_figures(row.figures).pci_bus))


def change_series(change: Callable[[Series], dict[str, Any]], **of_node: Any) -> None:
    """Store `change(series)` in the series of these nodes."""
    rows = NodeSummary.objects.filter(**of_node).order_by("node")
    for row, series in zip(rows, stored_series(**of_node), strict=True):
        row.series = pack(msgspec.structs.replace(series, **change(series)))
        row.save(update_fields=["series"])
