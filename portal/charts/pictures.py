"""The addresses of one figure for narrow and for dark screens, as the sources of a `<picture>`."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

SIZES = ("narrow", "broad")
NARROW, DARK = "(max-width: 46rem)", "(prefers-color-scheme: dark)"


@dataclass(frozen=True)
class Source:
    """One way to draw the picture, and the screens it is for; `media` is empty for all others."""

    media: str
    url: str
    size: str


def sources(url: str, theme: str, widest: str = "wide") -> list[Source]:
    """The most special first; `theme` is light or dark where a person chose one, else the device decides.

    `widest` is the size for all screens that are not narrow.

    >>> [source.media for source in sources("/f.svg?attempt=0", "light")]
    ['(max-width: 46rem)', '']
    >>> sources("/f.svg?attempt=0", "dark")[-1].url
    '/f.svg?attempt=0&scheme=dark'
    """
    made = []
    for size, width in (("narrow", NARROW), (widest, "")):
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
    size = query.get("size", "")
    return size if size in SIZES else "wide", query.get("scheme") == "dark"
