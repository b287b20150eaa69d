"""The addresses of one figure for narrow and for dark screens, as the sources of a `<picture>`."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

NARROW, DARK = "(max-width: 46rem)", "(prefers-color-scheme: dark)"


@dataclass(frozen=True)
class Source:
    """One way to draw the picture, and the screens it is for; `media` is empty for all others."""

    media: str
    url: str
    size: str


def sources(url: str, theme: str) -> list[Source]:
    """The most special first; `theme` is light or dark where a person chose one, else the device decides.

    >>> [source.media for source in sources("/f.svg?attempt=0", "light")]
    ['(max-width: 46rem)', '']
    >>> sources("/f.svg?attempt=0", "dark")[-1].url
    '/f.svg?attempt=0&scheme=dark'
    """
    made = []
    for size, width in (("narrow", NARROW), ("wide", "")):
        for scheme in ("dark", "light"):
            if theme and scheme != theme:
                continue
            told = {"size": size} if size != "wide" else {}
            told |= {"scheme": "dark"} if scheme == "dark" else {}
            media = [width, "" if theme or scheme == "light" else DARK]
            address = f"{url}&{urlencode(told)}" if told else url
            made.append(Source(" and ".join(filter(None, media)), address, size))
    return made


def drawn_as(query: QueryDict) -> tuple[str, bool]:
    """The size that an address asks for, and whether on dark paper."""
    return "narrow" if query.get("size") == "narrow" else "wide", query.get("scheme") == "dark"
