"""Digests of all that is drawn: whoever changes the engine or a shape sees that it alters runs.

`python -m cases.digests` draws everything and names the kinds of runs that differ from `digests.json`; with `--write`
it writes the file, after a change that is meant. Numbers count with six decimals, so that processors that differ in
the last bit agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cases.case import Case
from cases.early import library as early
from cases.library import LIBRARY
from cases.noisy_score import draw
from cases.progress import library as progress
from cases.scorecard import drawn
from demo.library import LIBRARY as SAMPLE_KINDS
from jobs.records import JobRecord
from metrics.payloads import NodePayload

KEPT = Path(__file__).resolve().with_name("digests.json")
SEED, DECIMALS = 101, 6
DrawnCase = tuple[Case, JobRecord, list[NodePayload]]


def digest(*values: Any) -> str:
    """Of numbers, texts, arrays, and of what consists of them."""
    bytes_ = hashlib.sha256()
    for part in _parts(values):
        bytes_.update(part)
    return bytes_.hexdigest()[:16]


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield f"{value.shape}".encode()
        yield (np.round(value.astype(np.float64), DECIMALS) + 0.0).tobytes()
    elif isinstance(value, Mapping):
        yield from _parts(sorted(value.items(), key=repr))
    elif isinstance(value, list | tuple):
        yield f"{len(value)}".encode()
        for part in value:
            yield from _parts(part)
    elif is_dataclass(value):
        yield from _parts([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, frozenset):
        yield from _parts(sorted(value))
    elif isinstance(value, float):
        yield f"{round(value, DECIMALS) + 0.0};".encode()
    else:
        yield f"{value};".encode()


def of_library(drawn: Iterable[DrawnCase]) -> Iterator[tuple[str, str]]:
    """Each noisy case as it was drawn."""
    for case, record, nodes in drawn:
        yield f"noisy/{case.name}", digest(msgspec.json.encode(_sent(msgspec.to_builtins([record, *nodes]))))


def _sent(value: Any) -> Any:
    """Without what is empty: a new field of the contract that no case has changes no digest."""
    if isinstance(value, dict):
        return {
            str(name): _sent(part) for name, part in sorted(value.items(), key=repr) if part not in (None, "", [], {})
        }
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_sent(part) for part in value]
    return value


def of_situations() -> Iterator[tuple[str, str]]:
    """Running jobs and logged runs, which have no seeds but their own."""
    examinations = {
        "own": early.own_situations(),
        "first": early.first_examination(),
        "second": early.second_examination(),
    }
    for author, running in examinations.items():
        yield from ((f"early/{author}/{one.name}", digest(one)) for one in running)
    for author in progress.AUTHORS:
        yield from ((f"progress/{author}/{one.name}", digest(one)) for one in progress.situations(author))


def of_samples() -> Iterator[tuple[str, str]]:
    """A job of each kind of the demo's library."""
    for kind in SAMPLE_KINDS:
        job = drawn(kind, SEED)
        yield f"samples/{kind}", digest(msgspec.json.encode((job.record, job.summaries)))


def of_kinds(each: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One digest for each folder of cases."""
    kinds: dict[str, list[str]] = {}
    for name, value in each:
        kinds.setdefault(name.rpartition("/")[0], []).append(value)
    return {kind: digest(*values) for kind, values in kinds.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", action="store_true", help="print the digest of each run, to compare two checkouts")
    parser.add_argument("--write", action="store_true", help="keep these digests")
    asked = parser.parse_args(arguments)
    each = [*of_library((case, *draw(case, SEED)) for case in LIBRARY), *of_situations(), *of_samples()]
    if asked.each:
        print("\n".join(f"{value} {name}" for name, value in each))
    now = of_kinds(each)
    if asked.write:
        KEPT.write_text(json.dumps(now, indent=2) + "\n")
    differ = [kind for kind, value in kept().items() if now.get(kind) != value]
    print("\n".join(f"drawn otherwise than before: {kind}" for kind in differ) or f"{len(each):,} runs drawn as before")
    return 1 if differ else 0


def kept() -> dict[str, str]:
    digests: dict[str, str] = json.loads(KEPT.read_text())
    return digests


if __name__ == "__main__":
    sys.exit(main())
