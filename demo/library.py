"""Every labelled kind of run, read from `kinds/`: the sample jobs of the demo, and what only tests and benches draw."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from demo.archetypes import Archetype

FOLDER = Path(__file__).resolve().parent / "kinds"
OF_THE_DEMO = "well_used poorly_used cut_short partly_known causes".split()
CLOSE_CALLS = "just_beyond just_within together".split()
"""Runs close to the thresholds, on both sides, and runs with several causes at once."""


def kinds(*files: str) -> Iterator[Archetype]:
    """The kinds of these files, in their order."""
    for name in files:
        yield from msgspec.convert(tomllib.loads((FOLDER / f"{name}.toml").read_text())["kind"], list[Archetype])


ARCHETYPES: Mapping[str, Archetype] = MappingProxyType({one.kind: one for one in kinds(*OF_THE_DEMO)})
LIBRARY: Mapping[str, Archetype] = MappingProxyType(
    {**ARCHETYPES, **{one.kind: one for one in kinds(*CLOSE_CALLS, "beyond_the_demo")}}
)
