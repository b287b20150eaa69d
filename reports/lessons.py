"""How lessons enter a report, and how a page shows a stored report with the lessons of today."""

from __future__ import annotations

from dataclasses import replace

from analysis.findings import FindingCode
from education.lesson import LessonContent, Lessons
from education.seeds import neutral_lessons, seed_lessons
from jobs.hardware import site
from jobs.records import JobRecord
from reports.job_report import FindingView, JobReport, LessonView, LinkView
from reports.vendor import is_shipped_site

CODES = {code.value: code for code in FindingCode}


def lesson_view(code: FindingCode, lessons: Lessons, record: JobRecord) -> LessonView:
    """What a report shows of a lesson: its micro-lesson and its links.

    On other hardware than LUMI's AMD GPUs a lesson that came with Kaiku and that staff left as it was gives way to its
    neutral form. The site's own link for the finding goes before the lesson's.
    """
    lesson = lessons.get(code)
    if lesson is None:
        return LessonView()
    lesson = _fitting(code, lesson, record)
    links = [LinkView(link.title, link.url) for link in lesson.links]
    own = site().links.get(code.value)
    if own is not None:
        links = [LinkView(lesson.title, own), *(link for link in links if link.url != own)]
    url = links[0].url if links else ""
    return LessonView(title=lesson.title, url=url, text=lesson.micro, links=tuple(links[1:]))


def with_lessons(report: JobReport, lessons: Lessons) -> JobReport:
    """The same report with these lessons; the stored one keeps its own."""
    return replace(report, findings=tuple(_renewed(finding, lessons, report.job) for finding in report.findings))


def _renewed(finding: FindingView, lessons: Lessons, record: JobRecord) -> FindingView:
    code = CODES.get(finding.code)
    return finding if code is None else replace(finding, lesson=lesson_view(code, lessons, record))


def _fitting(code: FindingCode, lesson: LessonContent, record: JobRecord) -> LessonContent:
    """The lesson for the hardware of this run."""
    if is_shipped_site(record.cluster, record.partition) or lesson != seed_lessons().get(code):
        return lesson
    return neutral_lessons().get(code, lesson)
