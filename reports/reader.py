"""A report as somebody other than its owner reads it: what it says to "you" is said of the owner by name."""

import re
from dataclasses import replace
from datetime import UTC, tzinfo

from reports.job_report import JobReport
from reports.sections import Layout, layout

YOURS = re.compile(r"\b[Yy]our(?:s)?\b")
YOU = re.compile(r"\b[Yy]ou(?: ([a-z]+))?\b")
OF_ONE_PERSON = {
    "are": "is",
    "enlarge": "enlarges",
    "fill": "fills",
    "have": "has",
    "need": "needs",
    "request": "requests",
    "see": "sees",
    "start": "starts",
    "use": "uses",
    "want": "wants",
    "were": "was",
}
"""How a verb that follows "you" is written of one person; others stay as they are."""


def of_owner(text: str, owner: str) -> str:
    """The sentence with the owner in place of "you".

    >>> of_owner("Your job reached the limit; the system, not you, ended it before you request more.", "alice")
    "alice's job reached the limit; the system, not alice, ended it before alice requests more."
    >>> print(of_owner(", ".join(f"you {verb}" for verb in OF_ONE_PERSON), "x"))
    x is, x enlarges, x fills, x has, x needs, x requests, x sees, x starts, x uses, x wants, x was
    """

    def named(found: re.Match[str]) -> str:
        verb = found[1]
        return owner if verb is None else f"{owner} {OF_ONE_PERSON.get(verb, verb)}"

    # The owner's name is data: a backslash in it must not act in the pattern.
    return YOU.sub(named, YOURS.sub(lambda _: f"{owner}'s", text))


def page_for(report: JobReport, owner: str = "", zone: tzinfo = UTC) -> Layout:
    """The report in reading order; for somebody else than its owner where the owner's name is given."""
    page = layout(report, zone)
    return as_read_by_others(page, owner) if owner else page


def as_read_by_others(page: Layout, owner: str) -> Layout:
    """The page of a member's job; names, options and what Slurm recorded stay as they are."""

    def said(text: str) -> str:
        return of_owner(text, owner)

    return replace(
        page,
        headline=said(page.headline),
        verdict=said(page.verdict),
        origin=said(page.origin),
        no_causes=said(page.no_causes),
        no_advice=said(page.no_advice),
        savings=said(page.savings),
        advisory=said(page.advisory),
        lessons=tuple((said(title), url) for title, url in page.lessons),
        not_measured=tuple(map(said, page.not_measured)),
        findings=tuple(
            replace(
                each,
                text=said(each.text),
                lesson_text=said(each.lesson_text),
                lesson_title=said(each.lesson_title),
                title=said(each.title),
            )
            for each in page.findings
        ),
        introduction=said(page.introduction),
        early=tuple(map(said, page.early)),
        program=page.program and replace(page.program, texts=tuple(map(said, page.program.texts))),
        recommendations=tuple(map(said, page.recommendations)),
    )
