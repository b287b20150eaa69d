"""What a report adds of lessons: about each finding, and about the program that a job probably runs by its name."""

from collections.abc import Collection
from dataclasses import dataclass

from analysis.efficiency import EfficiencyClass
from analysis.findings import Evidence, FindingCode
from education.lesson import LessonContent, Lessons, Link, Programs
from education.recognition import recognised
from education.seeds import lessons_by_sign, neutral_lessons, seed_lessons, seed_programs
from jobs.hardware import site
from jobs.records import JobRecord
from reports.vendor import is_shipped_site


@dataclass(frozen=True)
class LessonView:
    """A lesson and its links; all empty where staff show no lesson. `links` are those after `url`."""

    title: str = ""
    url: str = ""
    text: str = ""
    links: tuple[Link, ...] = ()


CODES = {code.value: code for code in FindingCode}


def lesson_view(code: FindingCode, lessons: Lessons, record: JobRecord, evidence: Evidence) -> LessonView:
    """What a report shows of a lesson: its micro-lesson and its links.

    A lesson that came with Kaiku and that staff did not change is replaced by its neutral form on hardware other than
    LUMI's AMD GPUs, and by the one for the sign that the evidence points to: a job whose ranks waited for each other
    gets no lesson about file systems. The site's own link for the finding comes before the lesson's.
    """
    lesson = lessons.get(code)
    if lesson is None:
        return LessonView()
    lesson = _fitting(code, lesson, record, str(evidence.get("points_to", "")))
    links = list(lesson.links)
    own = site().links.get(code.value)
    if own is not None:
        links = [Link(lesson.title, own), *(link for link in links if link.url != own)]
    url = links[0].url if links else ""
    return LessonView(title=lesson.title, url=url, text=lesson.micro, links=tuple(links[1:]))


def _fitting(code: FindingCode, lesson: LessonContent, record: JobRecord, sign: str) -> LessonContent:
    """The lesson for the hardware of this run, and for what the evidence points to."""
    if lesson != seed_lessons().get(code):
        return lesson
    is_neutral = not is_shipped_site(record.cluster, record.partition)
    general = neutral_lessons().get(code, lesson) if is_neutral else lesson
    return lessons_by_sign().get((code, sign, is_neutral), general)


@dataclass(frozen=True)
class ProgramView:
    """The program, by which word of the job's name it was recognised, and advice: the general one first."""

    code: str
    name: str
    said: str
    texts: tuple[str, ...]
    links: tuple[Link, ...]


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
    if found is None or (found.lesson == seed_programs().get(found.code) and not is_shipped_site(*place)):
        return None
    lesson = found.lesson
    said = f"This looks like {lesson.title}: “{found.word}” is in the job's name. If it is something else, ignore this."
    return ProgramView(
        code=found.code,
        name=lesson.title,
        said=said,
        texts=(lesson.micro, *dict.fromkeys(each.text for each in lesson.situations if each.code in codes)),
        links=lesson.links,
    )
