"""The lessons that come with Kaiku: one small file in `education/lessons/` for each finding code.

Written from the LUMI user guide, the LUMI training materials, the LUMI AI guide and CSC's tutorials, as of 2026-11.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from analysis.findings import FindingCode
from education.lesson import PROGRAM, LessonContent, Lessons, Programs

FOLDER = Path(__file__).resolve().parent / "lessons"
PROGRAMS_FOLDER = Path(__file__).resolve().parent / "programs"


@cache
def _tables() -> Mapping[FindingCode, Mapping[str, Any]]:
    """What each file has, in the order of the finding codes."""
    files = {code: FOLDER / f"{code.value}.toml" for code in FindingCode}
    return {code: tomllib.loads(file.read_text(encoding="utf-8")) for code, file in files.items() if file.is_file()}


@cache
def seed_lessons() -> Lessons:
    """Every lesson that has a file, in the order of the finding codes."""
    return {code: _content(table) for code, table in _tables().items()}


@cache
def seed_programs() -> Programs:
    """Every lesson about a program, in the order of its file's name.

    Written from the pages that each links to first, read in 2026-11: CSC's user guide, the LUMI software library, the
    LUMI AI guide and the documentation of the programs.
    """
    files = sorted(PROGRAMS_FOLDER.glob("*.toml"))
    return {f"{PROGRAM}{file.stem}": seed(file.read_text(encoding="utf-8")) for file in files}


@cache
def neutral_lessons() -> Lessons:
    """The same lessons without LUMI's names and AMD's tools, from the table `neutral` of each file: for other GPUs."""
    return {code: _content(table["neutral"]) for code, table in _tables().items() if "neutral" in table}


@cache
def lessons_by_sign() -> Mapping[tuple[FindingCode, str, bool], LessonContent]:
    """Lessons for one sign of a finding (its evidence `points_to`) that the general lesson does not fit.

    From the tables `when.SIGN` of each file, and `when.SIGN.neutral` for other GPUs: by code, sign and whether neutral.
    """
    found = {}
    for code, table in _tables().items():
        for sign, of_sign in table.get("when", {}).items():
            found[code, sign, False] = _content(of_sign)
            found[code, sign, True] = _content(of_sign["neutral"])
    return found


def seed(text: str) -> LessonContent:
    """One file as a lesson; the lines of the micro-lesson become one paragraph.

    >>> seed('title = "T"\\nmicro = "one\\\\ntwo"').micro
    'one two'
    """
    return _content(tomllib.loads(text))


def _content(table: Mapping[str, Any]) -> LessonContent:
    values = dict(table)
    values["micro"] = " ".join(values["micro"].split())
    values |= {name: values.get(name, "").strip() for name in ("explanation", "hint")}
    values["situations"] = [each | {"text": " ".join(each["text"].split())} for each in values.get("situations", ())]
    return msgspec.convert(values, LessonContent)
