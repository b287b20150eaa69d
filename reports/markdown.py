"""A report as Markdown, for issue trackers and notebooks."""

import re
from collections.abc import Iterable, Iterator

from reports.job_report import JobReport, Observation
from reports.reader import page_for
from reports.request_diff import DiffLine, is_whole
from reports.sections import WHILE_IT_RAN, Layout
from wire.numbers import NO_BREAK

# What CommonMark 0.31 and GitHub's extensions interpret inside a line: emphasis, code, links, HTML, entities, cells,
# and addresses that would become links automatically.
ACTIVE = re.compile(r"([\\`*_\[\]<>&|#~!@]|:(?=//)|(?<=www)\.)")
FENCE = "```"


def report_markdown(report: JobReport, owner: str = "") -> str:
    """For readers as `page_for` has them; no name can become a link, an image, HTML or the end of a code block."""
    return "\n".join(_lines(page_for(report, owner))).replace(NO_BREAK, " ") + "\n"


def escaped(text: str) -> str:
    """Text that reads as itself.

    >>> escaped("<b>[x](y)")
    '\\\\<b\\\\>\\\\[x\\\\](y)'
    """
    return ACTIVE.sub(r"\\\1", text)


def _address(url: str) -> str:
    """An address that cannot end the link that contains it."""
    return url.replace("(", "%28").replace(")", "%29")


def _on_one_line(text: str) -> str:
    """Text without line ends, so that no line can start a heading, a list or a block."""
    return " ".join(text.split())


def _lines(page: Layout) -> Iterator[str]:
    yield f"# Kaiku: {escaped(page.title)}"
    yield f"\n{escaped(page.brief)}"
    yield f"\n**{escaped(page.headline)}: {escaped(page.class_name)}.** {escaped(page.verdict)}"
    if page.origin:
        yield f"\n{escaped(page.origin)}"
    if page.numbers:
        yield ""
        yield from _table(page.numbers)
    if page.bill_note:
        yield f"\n{escaped(page.bill_note)}"
    yield "\n## Suggested request\n"
    yield from _advice(page)
    yield "\n## Findings\n"
    yield from _findings(page)
    if page.early:
        yield f"\n## {WHILE_IT_RAN}\n"
        yield from (f"- {escaped(_on_one_line(text))}" for text in page.early)
    if page.program:
        yield f"\n## Hint for {escaped(page.program.name)}\n\n{escaped(page.program.said)}\n"
        yield from (f"- {escaped(_on_one_line(text))}" for text in page.program.texts)
        yield from (f"- [{escaped(link.title)}]({_address(link.url)})" for link in page.program.links)
    yield "\n## Measurements\n"
    yield from _table(page.observed)
    if page.lessons:
        yield "\n## Further reading\n"
        yield from (f"- [{escaped(title)}]({_address(url)})" for title, url in page.lessons)
    yield "\n## The job\n"
    yield from _table(page.facts)
    if page.not_measured:
        yield "\n## Not measured\n"
        yield from (f"- {escaped(text)}" for text in page.not_measured)
    yield f"\n*{escaped(page.advisory)}*"


def _table(rows: Iterable[Observation]) -> Iterator[str]:
    yield "| | |\n|---|---|"
    yield from (f"| {escaped(row.label)} | {escaped(row.value)} |" for row in rows)


def _findings(page: Layout) -> Iterator[str]:
    if not page.findings:
        yield escaped(page.no_causes)
    for number, finding in enumerate(page.findings, 1):
        if number > 1:
            yield ""
        sure = f" ({finding.sure})" if finding.sure else ""
        yield f"{number}. **{escaped(finding.title)}**{sure}. {escaped(finding.text)}"
        if finding.lesson_text:
            yield f"\n{' ' * len(f'{number}. ')}*Lesson:* {escaped(_on_one_line(finding.lesson_text))}"


def _advice(page: Layout) -> Iterator[str]:
    if not page.recommendations:
        yield escaped(page.no_advice)
    if page.introduction:
        yield f"{escaped(page.introduction)}\n"
    yield from _diff(page.request)
    for reason in page.recommendations:
        yield f"{escaped(reason)}\n"
    if page.savings:
        yield escaped(page.savings)


def _diff(lines: Iterable[DiffLine]) -> Iterator[str]:
    """A block that nothing in its lines can end, coloured where "diff" is known; nothing where there is none."""
    shown = tuple(lines)
    kept = [line.marked.replace("`", "'") for line in shown]
    if kept:
        yield "\n".join([f"{FENCE}{'' if is_whole(shown) else 'diff'}", *kept, f"{FENCE}\n"])
