"""What a report adds for the program that a job probably runs, as far as the job's name tells."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from analysis.efficiency import EfficiencyClass
from education.lesson import LessonContent, Programs
from education.recognition import Recognised, recognised
from education.seeds import seed_programs
from reports.lessons import LinkView
from reports.vendor import is_shipped_site


@dataclass(frozen=True)
class ProgramView:
    """The program, by which word of the job's name it was recognised, and advice: the general one first."""

    code: str
    name: str
    said: str
    texts: tuple[str, ...]
    links: tuple[LinkView, ...]


def program_view(
    job_name: str, place: tuple[str, str], efficiency_class: str, codes: Collection[str], programs: Programs
) -> ProgramView | None:
    """The hint for a run in this `place` (cluster and partition) with these findings.

    None where the name tells no program, and for an efficient run: nothing has to change there.
    """
    if efficiency_class == EfficiencyClass.EFFICIENT:
        return None
    return named_program(job_name, place, programs, codes)


def named_program(
    job_name: str, place: tuple[str, str], programs: Programs, codes: Collection[str] = ()
) -> ProgramView | None:
    """The same before a run, or whatever became of it.

    What came with Kaiku is about LUMI's GPUs and modules, so it is shown for these alone until staff change it.
    """
    found = recognised(job_name, programs)
    if found is None or not _fits(found, place):
        return None
    lesson = found.lesson
    said = f"This looks like {lesson.title}: “{found.word}” is in the job's name. If it is something else, ignore this."
    return ProgramView(
        code=found.code,
        name=lesson.title,
        said=said,
        texts=(lesson.micro, *_for_findings(lesson, codes)),
        links=tuple(LinkView(link.title, link.url) for link in lesson.links),
    )


def _fits(found: Recognised, place: tuple[str, str]) -> bool:
    return found.lesson != seed_programs().get(found.code) or is_shipped_site(*place)


def _for_findings(lesson: LessonContent, codes: Collection[str]) -> tuple[str, ...]:
    """What the lesson says of these findings, each text once."""
    return tuple(dict.fromkeys(each.text for each in lesson.situations if each.code in codes))
