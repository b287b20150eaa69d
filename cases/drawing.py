"""The one engine: from a drawing as data to the nodes of a run, in the shapes of the author who wrote it.

A drawing is what a case's TOML says of its nodes. `times` beside a value, or beside `of`, repeats it: `{ times = 8,
parts = … }` are eight GPUs with these parts. Everything is drawn in the order in which it stands, so that a seed gives
the same run as long as nobody moves a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from cases.readings import Node

Draw = Callable[[np.random.Generator], list[Node]]
Table = Mapping[str, Any]
FieldsOfGpu = dict[str, Any]
"""`gpus` by number, `drop`: names of fields that they do not send; every other key is a field that they do send."""


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a drawing, read from its table; a name that a shape does not know is an error."""


def expanded(value: Any) -> Any:
    """The value with everything repeated that stands there once with its `times`.

    >>> expanded([{"times": 2, "of": 5}, {"times": 2, "busy": [1]}])
    [5, 5, {'busy': [1]}, {'busy': [1]}]
    """
    if isinstance(value, dict):
        return {name: expanded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [part for item in value for part in _repeated(expanded(item))]
    return value


def _repeated(item: Any) -> list[Any]:
    if not isinstance(item, dict) or "times" not in item:
        return [item]
    once = {name: part for name, part in item.items() if name != "times"}
    return [once.get("of", once)] * item["times"]


def fields_by_gpu(groups: Iterable[FieldsOfGpu]) -> dict[int, dict[str, Any]]:
    """What `Node.fields` wants: by GPU, None for a field that is not sent.

    >>> fields_by_gpu([{"gpus": [0, 3], "drop": ["p95_util"], "peak_mem_gb": 9999.0}])[3]
    {'peak_mem_gb': 9999.0, 'p95_util': None}
    """
    return {
        gpu: {name: part for name, part in group.items() if name not in ("gpus", "drop")}
        | dict.fromkeys(group.get("drop", ()))
        for group in groups
        for gpu in group["gpus"]
    }
