"""The offer of help that support staff send: its shipped text, and what its placeholders stand for. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.shown_text.joiners import without_stray_marks
from wire.safe_text import printable_lines

SUBJECT_LENGTH_MAX, TEXT_LENGTH_MAX = 150, 4000
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PLACEHOLDERS = {
    "name": "the account of the recipient",
    "what": "what the flag is about: their jobs, one work or a project",
    "unused": "unused GPU-hours (estimate)",
    "hours": "GPU-hours of the counted jobs",
    "days": "the number of days that these sums are over",
    "first_day": "the first of these days",
    "last_day": "the last of these days",
    "sender": "the account of the member of staff",
    "link": "the address of the page with their flags",
}
"""What may stand in braces in the text, and what it stands for."""


@dataclass(frozen=True)
class OfferText:
    """A subject and a text, with placeholders in braces."""

    subject: str
    text: str

    def as_shown(self) -> OfferText:
        """The same as others may read it, whoever wrote it and when."""
        return OfferText(subject_line(self.subject), printable_lines(self.text))


SHIPPED = OfferText(
    "Help with your GPU jobs",
    "Hello {name},\n\n"
    "About {unused} of {hours} GPU-hours of {what} were unused in the {days} days from {first_day} to {last_day}"
    " (estimate). We would like to help you to get more from your GPU-hours. Often a small change of the request is"
    " enough.\n\n"
    "What was counted, why it is shown, and what clears it: {link}\n\n"
    "If you would like help, share a job with us on its page, with your question; without that we see no single job of"
    " yours. This is an offer and nothing else: it does not affect your account.\n\n"
    "Kind regards\n{sender}, support",
)
"""Used until staff save a text of their own."""


def subject_line(text: str) -> str:
    """A subject on one line: tabs and line breaks become spaces, marks that hide or turn text go.

    >>> subject_line(" Help\\twith\\nyour \\u202ejobs")
    'Help with your jobs'
    """
    return without_stray_marks(" ".join(text.split()), "").strip()


def unknown_placeholders(text: str) -> list[str]:
    """The words in braces that stand for nothing, in their order.

    >>> unknown_placeholders("Hello {name}, {nmae} {}")
    ['nmae', '']
    """
    return [name for name in PLACEHOLDER.findall(text) if name not in PLACEHOLDERS]


def filled(offer: OfferText, values: Mapping[str, str]) -> OfferText:
    """The offer with its placeholders replaced, once; what a value contains in braces stays as it is.

    >>> filled(OfferText("To {name}", "{unused} of {hours}"), {"name": "{hours}", "unused": "1", "hours": "2"})
    OfferText(subject='To {hours}', text='1 of 2')
    """
    subject, text = (
        PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), part) for part in (offer.subject, offer.text)
    )
    return OfferText(subject, text)
