"""How lessons enter a report, and how a page shows a stored report with the lessons of today."""

from __future__ import annotations

from dataclasses import replace

from analysis.findings import FindingCode
from education.lesson import LessonContent, Lessons
from reports.job_report import FindingView, JobReport, LessonView, LinkView

CODES = {code.value: code for code in FindingCode}


def lesson_view(lesson: LessonContent | None) -> LessonView:
    """What a report says of a lesson: its micro-lesson and its links."""
    if lesson is None:
        return LessonView()
    links = tuple(LinkView(link.title, link.url) for link in lesson.links[1:])
    return LessonView(title=lesson.title, url=lesson.url, text=lesson.micro, links=links)


def with_lessons(report: JobReport, lessons: Lessons) -> JobReport:
    """The same report with these lessons; the stored one keeps what it said."""
    return replace(report, findings=tuple(_told(finding, lessons) for finding in report.findings))


def _told(finding: FindingView, lessons: Lessons) -> FindingView:
    code = CODES.get(finding.code)
    return finding if code is None else replace(finding, lesson=lesson_view(lessons.get(code)))
