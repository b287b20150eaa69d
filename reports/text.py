"""A report as plain text within a number of columns, for terminals and mail."""

import textwrap
from collections.abc import Iterable, Iterator

from reports.job_report import JobReport, Observation
from reports.lessons import ProgramView
from reports.numbers import unbroken
from reports.reader import page_for
from reports.request_diff import DiffLine
from reports.sections import WHILE_IT_RAN, Layout
from wire.numbers import NO_BREAK
from wire.report_columns import COLUMNS
from wire.safe_text import printable

LABEL_WIDTH = 28


def report_text(report: JobReport, owner: str = "", width: int = COLUMNS) -> str:
    """For readers as `page_for` has them; control characters in names are removed, so that it is safe on a terminal."""
    page = page_for(report, owner)
    return "\n".join(printable(line) for line in _lines(page, width)).replace(NO_BREAK, " ") + "\n"


def _lines(page: Layout, width: int) -> Iterator[str]:
    yield from _heading(f"Kaiku: {page.title}", "=", width)
    yield from wrapped(page.brief, width)
    yield ""
    yield from wrapped(f"{page.headline}: {page.class_name.upper()}.", width)
    yield from wrapped(page.verdict, width)
    yield from wrapped(page.origin, width)
    if page.numbers:
        yield ""
        yield from _table(page.numbers, width)
    yield from wrapped(page.bill_note, width)
    yield from _section("Suggested request", _advice(page, width), width)
    yield from _section("Findings", _findings(page, width), width)
    if page.early:
        yield from _section(WHILE_IT_RAN, (line for text in page.early for line in _item(text, width)), width)
    if page.program:
        yield from _section(f"Hint for {page.program.name}", _program(page.program, width), width)
    yield from _section("Measurements", _table(page.observed, width), width)
    if page.lessons:
        yield from _section("Further reading", _links(page.lessons, width), width)
    yield from _section("The job", _table(page.facts, width), width)
    if page.not_measured:
        yield from _section("Not measured", (line for text in page.not_measured for line in _item(text, width)), width)
    yield ""
    yield from wrapped(page.advisory, width)


def _findings(page: Layout, width: int) -> Iterator[str]:
    if not page.findings:
        yield from wrapped(page.no_causes, width)
    for number, finding in enumerate(page.findings, 1):
        if number > 1:
            yield ""
        sure = f" ({finding.sure})" if finding.sure else ""
        yield from _filled(f"{number}. {finding.title}{sure}", "", "   ", width)
        yield from wrapped(finding.text, width, "   ")
        if finding.lesson_text:
            yield from wrapped(f"Lesson: {finding.lesson_text}", width, "   ")


def _program(program: ProgramView, width: int) -> Iterator[str]:
    yield from wrapped(program.said, width)
    for text in program.texts:
        yield from _item(text, width)
    yield from _links(((link.title, link.url) for link in program.links), width)


def _links(links: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    for title, url in links:
        yield from (*wrapped(title, width), f"  {url}")


def _advice(page: Layout, width: int) -> Iterator[str]:
    if not page.recommendations:
        yield from wrapped(page.no_advice, width)
    if page.introduction:
        yield from wrapped(page.introduction, width)
    yield from diff_text(page.request)
    for reason in page.recommendations:
        yield ""
        yield from wrapped(reason, width)
    if page.savings:
        yield ""
        yield from wrapped(page.savings, width)


def diff_text(lines: Iterable[DiffLine]) -> Iterator[str]:
    """A suggested request as indented lines, each after its sign, if it has one."""
    yield from (f"    {line.marked}" for line in lines)


def _section(title: str, lines: Iterable[str], width: int) -> Iterator[str]:
    yield ""
    yield from _heading(title, "-", width)
    yield from lines


def _heading(title: str, line: str, width: int) -> Iterator[str]:
    shown = textwrap.shorten(title, width, placeholder="…")
    yield shown
    yield line * len(shown)


def _table(rows: Iterable[Observation], width: int) -> Iterator[str]:
    """Two columns; in a narrower page than usual, a row that does not fit becomes a sentence."""
    for row in rows:
        if width < COLUMNS and LABEL_WIDTH + len(row.value) > width:
            yield from _filled(f"{row.label}: {row.value}", "", "  ", width)
        else:
            yield from _filled(row.value, f"{row.label:{LABEL_WIDTH}}", " " * LABEL_WIDTH, width) or [row.label]


def wrapped(text: str, width: int = COLUMNS, indent: str = "") -> list[str]:
    """A paragraph as indented lines of the width of the page; none for an empty one."""
    return _filled(text, indent, indent, width)


def _item(text: str, width: int) -> list[str]:
    return _filled(text, "- ", "  ", width)


def _filled(text: str, first: str, later: str, width: int) -> list[str]:
    """Lines of the width of the page; neither an option such as --gpus-per-node nor a number and its unit is broken."""
    kept = unbroken(text)
    lines = textwrap.wrap(kept, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]
