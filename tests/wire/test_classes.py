"""The classes of GPU use have one place: no bound stands elsewhere, and another one there is one everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from analysis.anonymous.checking import GRAMMAR
from analysis.anonymous.lines import Line
from analysis.efficiency import EfficiencyClass
from analysis.elsewhere.documents import Judged
from wire.classes import BOUNDS_PERCENT, CLASS_NAMES, FROM_PERCENT, bands, class_of, in_words

ROOT = Path(__file__).resolve().parents[2]
PLACES = "analysis cli collector deploy education jobs metrics portal reports static templates wire".split()
KINDS = (".py", ".html", ".txt", ".js", ".css", ".toml", ".lua")
BOUND = re.compile(
    rf"(?<![\w.#-])({'|'.join(f'{low:g}' for low in BOUNDS_PERCENT)})(?:\.0)?(?![\w.])(?:(?:&nbsp;|\s)*(%))?"
)
ALL_WITHIN, PERCENT_WITHIN = 120, 60
"""Characters within which all bounds, or two that are percentages, count as a list."""
OWN_BANDS = {"analysis/anonymous/bands.py", "analysis/anonymous/lines.py"}
"""Bands of use that the format of rows for other sites has, whatever the classes are; each of them is finer."""


def lists_bounds(text: str) -> bool:
    found = list(BOUND.finditer(text))
    percentages = [each for each in found if each[2]]
    return any(
        len({each[1] for each in near}) == len(near) and near[-1].end() - near[0].start() <= within
        for places, count, within in ((found, len(BOUNDS_PERCENT), ALL_WITHIN), (percentages, 2, PERCENT_WITHIN))
        for near in zip(*(places[first:] for first in range(count)), strict=False)
    )


def sources() -> Iterator[Path]:
    for place in PLACES:
        yield from (
            path for path in (ROOT / place).rglob("*") if path.suffix in KINDS and "migrations" not in path.parts
        )


@pytest.mark.parametrize(
    "written",
    [
        "CLASSES = ((70.0, 1), (40.0, 2), (15.0, 3))",
        "(15, 40, 70)",
        "Efficient from 70&nbsp;%, Acceptable from 40&nbsp;%",
        "for a score from 40 % to 70 %",
        '{"EFFICIENT": 70,\n "ACCEPTABLE": 40,\n "INEFFICIENT": 15}',
    ],
)
def test_a_list_of_bounds_is_recognised(written: str) -> None:
    assert lists_bounds(written)


def test_no_list_of_bounds_stands_elsewhere() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources() if lists_bounds(path.read_text())}
    assert found - OWN_BANDS == {"wire/classes.py"}


def test_documents_state_the_bounds() -> None:
    good, middle, poor = (f"{low:g}" for low in reversed(BOUNDS_PERCENT))
    readme = (ROOT / "README.md").read_text()
    assert (
        f"Efficient (from {good} %), Acceptable (from {middle} %),\n  Inefficient (from {poor} %) or Wasted" in readme
    )
    policy = (ROOT / "docs/policy.md").read_text()
    assert f"max(S - {good}, 0) / {100 - float(good):g}" in policy
    assert f"max({middle} - S, 0) / {middle} " in policy
    assert f"may be from {middle} to {good} % before rounding" in policy


def test_the_names_are_the_same_everywhere() -> None:
    assert [each.value for each in EfficiencyClass] == list(CLASS_NAMES)
    assert get_args(get_type_hints(Judged)["efficiency_class"]) == tuple(CLASS_NAMES)
    assert get_args(get_type_hints(Line)["efficiency_class"]) == (*CLASS_NAMES, "any")
    assert GRAMMAR["efficiency_class"] == "|".join((*CLASS_NAMES, "any"))


def test_bands_and_words_have_every_class_and_no_gap() -> None:
    ends = [tuple(map(float, band.split("-"))) for band in bands().values()]
    assert [low for low, _ in ends] == list(FROM_PERCENT.values())
    assert [end for _, end in ends] == [100.0, *list(FROM_PERCENT.values())[:-1]]
    assert all(f"{name.capitalize()} " in in_words() for name in FROM_PERCENT)


@pytest.mark.parametrize("bound", BOUNDS_PERCENT)
def test_a_class_begins_at_its_bound(bound: float) -> None:
    names = list(FROM_PERCENT)
    assert names.index(class_of(bound - 1e-9)) == names.index(class_of(bound)) + 1


def test_another_bound_is_one_on_pages_in_reports_in_the_terminal_and_in_answers(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "wire", tmp_path / "wire", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "wire/classes.py"
    changed.write_text(changed.read_text().replace('"EFFICIENT": 70.0', '"EFFICIENT": 75.0'))
    tests = str(ROOT / "tests/portal/with_other_bounds.py")
    start = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import wire.classes, pytest\n"
        f"assert wire.classes.class_of(72.0) == 'ACCEPTABLE'\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', {tests!r}]))"
    )
    # On an SQLite database in memory: the other one's databases for tests are those of the suite around this.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAIKU_TEST_")}
    environment.pop("DATABASE_URL", None)
    environment.pop("TEST_DATABASE_URL", None)
    done = subprocess.run([sys.executable, "-c", start], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
