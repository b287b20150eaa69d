"""A report as plain text of at most 78 columns, for terminals and mail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from jobs.records import printable
from reports.job_report import JobReport, Observation
from reports.numbers import NO_BREAK, unbroken
from reports.program_hints import ProgramView
from reports.reader import page_for
from reports.request_diff import DiffLine
from reports.sections import WHILE_IT_RAN, Layout

WIDTH = 78
LABEL_WIDTH = 28


def report_text(report: JobReport, owner: str = "") -> str:
    """For readers as `page_for` has them; control characters in names are removed, so that it is safe on a terminal."""
    page = page_for(report, owner)
    return "\n".join(printable(line) for line in _lines(page)).replace(NO_BREAK, " ") + "\n"


def _lines(page: Layout) -> Iterator[str]:
    yield from _heading(f"Kaiku: {page.title}", "=")
    yield from wrapped(page.brief)
    yield ""
    yield from wrapped(f"{page.headline}: {page.class_name.upper()}.")
    yield from wrapped(page.verdict)
    yield from wrapped(page.origin)
    if page.numbers:
        yield ""
        yield from _table(page.numbers)
    yield from wrapped(page.bill_note)
    yield from _section("Suggested request", _advice(page))
    yield from _section("Findings", _findings(page))
    if page.early:
        yield from _section(WHILE_IT_RAN, (line for text in page.early for line in _item(text)))
    if page.program:
        yield from _section(f"Hint for {page.program.name}", _program(page.program))
    yield from _section("Measurements", _table(page.observed))
    if page.lessons:
        yield from _section("Further reading", (line for title, url in page.lessons for line in (title, f"  {url}")))
    yield from _section("The job", _table(page.facts))
    if page.not_measured:
        yield from _section("Not measured", (line for text in page.not_measured for line in _item(text)))
    yield ""
    yield from wrapped(page.advisory)


def _findings(page: Layout) -> Iterator[str]:
    if not page.findings:
        yield from wrapped(page.no_causes)
    for number, finding in enumerate(page.findings, 1):
        if number > 1:
            yield ""
        sure = f" ({finding.sure})" if finding.sure else ""
        yield from wrapped(f"{number}. {finding.title}{sure}")
        yield from wrapped(finding.text, "   ")
        if finding.lesson_text:
            yield from wrapped(f"Lesson: {finding.lesson_text}", "   ")


def _program(program: ProgramView) -> Iterator[str]:
    yield from wrapped(program.said)
    for text in program.texts:
        yield from _item(text)
    for link in program.links:
        yield from (link.title, f"  {link.url}")


def _advice(page: Layout) -> Iterator[str]:
    if not page.recommendations:
        yield from wrapped(page.no_advice)
    if page.introduction:
        yield from wrapped(page.introduction)
    yield from diff_text(page.request)
    for advice in page.recommendations:
        yield ""
        yield from wrapped(advice.reason)
    if page.savings:
        yield ""
        yield from wrapped(page.savings)


def diff_text(lines: Iterable[DiffLine]) -> Iterator[str]:
    """A suggested request as indented lines, each after its sign, if it has one."""
    yield from (f"    {line.marked}" for line in lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield from _heading(title, "-")
    yield from lines


def _heading(title: str, line: str) -> Iterator[str]:
    shown = textwrap.shorten(title, WIDTH, placeholder="…")
    yield shown
    yield line * len(shown)


def _table(rows: Iterable[Observation]) -> Iterator[str]:
    for row in rows:
        yield from _filled(row.value, f"{row.label:{LABEL_WIDTH}}", " " * LABEL_WIDTH) or [row.label]


def wrapped(text: str, indent: str = "") -> list[str]:
    """A paragraph as indented lines of the width of the page; none for an empty one."""
    return _filled(text, indent, indent)


def _item(text: str) -> list[str]:
    return _filled(text, "- ", "  ")


def _filled(text: str, first: str, later: str) -> list[str]:
    """Lines of the width of the page; neither an option such as --gpus-per-node nor a number and its unit is broken."""
    kept = unbroken(text)
    lines = textwrap.wrap(kept, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]
