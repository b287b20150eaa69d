"""All noisy cases, read from their TOML by area; no two have the same name.

A file names the shapes that draw its cases, and fields that all its records have. A record is `job-record/1`; what
most records say alike is left out there and stands here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cases.case import Case, Sensible
from cases.drawing import Described, Draw, Table, expanded
from cases.readings import Node
from cases.shapes import examiner, examiner_own, inspector, learning, requests, requests_own, simulation

FOLDER = Path(__file__).resolve().parent / "noisy"
AREAS_IN_ORDER = {
    "endings": "timeout memory gpu_memory states walltime",
    "examiner": "disguised ends healthy limits spread time",
    "inspector": "big bills elsewhere ends healthy healthy_wide host unmeasured",
    "learning": "healthy near devices supply waiting limits unexplained",
    "requests": "share nodes single coverage othersite pairs",
    "simulation": "md fluids chemistry plasma nodes host",
}
SHAPES: Mapping[str, Callable[[Table], Draw]] = {
    "examiner": examiner.drawn,
    "inspector": inspector.drawn,
    "learning": learning.drawn,
    "requests": requests.drawn,
    "simulation": simulation.drawn,
}
OWN_RUNS = {**examiner_own.RUNS, **requests_own.RUNS}


class Told(Described, frozen=True):
    """A case as its TOML tells it."""

    name: str
    source: str
    story: str
    record: dict[str, Any]
    efficiency_class: str = msgspec.field(name="class")
    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    sensible: Sensible = Sensible()
    corrected: str = ""
    drawing: dict[str, Any] | None = None


class File(Described, frozen=True):
    """One theme of one author: whose shapes draw its cases, and what all its records say."""

    shapes: str
    case: tuple[Told, ...]
    record: dict[str, Any] = {}


def cases_of(area: str, theme: str) -> Iterator[Case]:
    """The cases of one file, in its order."""
    file = msgspec.convert(tomllib.loads((FOLDER / area / f"{theme}.toml").read_text()), File)
    for told in file.case:
        yield Case(
            name=told.name,
            source=told.source,
            story=told.story,
            record=full_record(file.record | told.record),
            draw=_draw(file.shapes, told.drawing),
            efficiency_class=told.efficiency_class,
            must=told.must,
            may=told.may,
            sensible=told.sensible,
            corrected=told.corrected,
        )


def full_record(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A record with what it leaves out: the options of the request stand in one line; `unknown` fields are None.

    >>> full_record({"gpus_requested": 16, "node_count": 2, "request": "--gpus=16 --exclusive"})["request"]
    {'--gpus': '16', '--exclusive': ''}
    """
    record = {"state": "COMPLETED", "exit_code": "0:0", "node_count": 1, **fields}
    record.setdefault("gpus_allocated", record["gpus_requested"])
    record.setdefault("gpus_per_node", record["gpus_allocated"] // max(1, record["node_count"]))
    record.setdefault("ntasks", record["gpus_allocated"])
    if "request" in record:
        words = (word.partition("=") for word in record["request"].split())
        record["request"] = {option: value for option, _, value in words}
    return record | dict.fromkeys(record.pop("unknown", ()))


def _draw(shapes: str, drawing: Table | None) -> Draw:
    """What draws a case: a function of its author's own, or the shape's from the data; without either no node sent."""
    if drawing is None:
        return _nothing
    if "own" in drawing:
        return OWN_RUNS[drawing["own"]]
    return SHAPES[shapes](expanded(drawing))


def _nothing(_: np.random.Generator) -> list[Node]:
    return []


AREAS: Mapping[str, tuple[Case, ...]] = {
    area: tuple(case for theme in themes.split() for case in cases_of(area, theme))
    for area, themes in AREAS_IN_ORDER.items()
}
LIBRARY: tuple[Case, ...] = tuple(case for cases in AREAS.values() for case in cases)
