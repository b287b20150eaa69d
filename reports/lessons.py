"""How lessons are added to a report, and how a page shows a stored report with the current lessons."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.findings import Evidence, FindingCode
from education.lesson import LessonContent, Lessons
from education.seeds import lessons_by_sign, neutral_lessons, seed_lessons
from jobs.hardware import site
from jobs.records import JobRecord
from reports.vendor import is_shipped_site


@dataclass(frozen=True)
class LinkView:
    """One page for further reading."""

    title: str
    url: str


@dataclass(frozen=True)
class LessonView:
    """A lesson and its links; all empty where staff show no lesson. `links` are those after `url`."""

    title: str = ""
    url: str = ""
    text: str = ""
    links: tuple[LinkView, ...] = ()


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
    links = [LinkView(link.title, link.url) for link in lesson.links]
    own = site().links.get(code.value)
    if own is not None:
        links = [LinkView(lesson.title, own), *(link for link in links if link.url != own)]
    url = links[0].url if links else ""
    return LessonView(title=lesson.title, url=url, text=lesson.micro, links=tuple(links[1:]))


def _fitting(code: FindingCode, lesson: LessonContent, record: JobRecord, sign: str) -> LessonContent:
    """The lesson for the hardware of this run, and for what the evidence points to."""
    if lesson != seed_lessons().get(code):
        return lesson
    is_neutral = not is_shipped_site(record.cluster, record.partition)
    general = neutral_lessons().get(code, lesson) if is_neutral else lesson
    return lessons_by_sign().get((code, sign, is_neutral), general)
