"""Markdown of lessons as HTML: what it may say, and what never becomes active."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from education.lesson import EXPLANATION_CHARACTERS_MAX
from education.markup import lesson_html
from tests.growth import grows_linearly

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src='https://evil.example'></iframe>",
    "<style>body{display:none}</style>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    '[x](//evil.example/ "onmouseover=alert(1)")',
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "`</code><script>alert(1)</script>`",
    '```"><script>alert(1)</script>\nx\n```',
    '<math><mi//xlink:href="data:x,<script>alert(1)</script>">',
]
ALLOWED = set("p br hr h3 h4 h5 h6 strong em s code pre blockquote ul ol li a table thead tbody tr th td".split())


class Elements(HTMLParser):
    """What a browser would make of the HTML: every element and every attribute of it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs


def assert_is_harmless(html: str) -> None:
    found = Elements()
    found.feed(html)
    assert found.names <= ALLOWED, html
    assert {name for name, _ in found.attributes} <= {"href", "title", "rel", "start"}, html
    addresses = [urlsplit(value or "") for name, value in found.attributes if name == "href"]
    assert {address.scheme for address in addresses} <= {"http", "https", ""}, html


@pytest.mark.parametrize("markdown", ATTACKS)
def test_nothing_active_comes_through(markdown: str) -> None:
    assert_is_harmless(lesson_html(markdown))


@given(
    st.lists(st.sampled_from([*ATTACKS, "\n", "\n\n", "> ", "* ", "[", "](", ")", "`", "| a |\n|---|\n"]), max_size=8)
)
def test_no_mixture_of_attacks_comes_through(parts: list[str]) -> None:
    assert_is_harmless(lesson_html("".join(parts)))


def test_markdown_becomes_headings_lists_code_tables_and_links() -> None:
    html = lesson_html(
        "# Why\n\n- one\n- two\n\n```\nsrun x\n```\n\n| a |\n|---|\n| 1 |\n\n[LUMI](https://lumi.example/)"
    )
    for said in ("<h3>Why</h3>", "<li>one</li>", "<pre><code>srun x\n</code></pre>", "<td>1</td>"):
        assert said in html
    assert '<a href="https://lumi.example/" rel="noreferrer noopener">LUMI</a>' in html


@pytest.mark.parametrize("part", ["[", "*", "> ", "`", "![](", "<", "- ", "|", "\\", "&#", "_a", "[a](", "x\n"])
def test_a_lesson_of_anything_costs_as_much_as_it_is_long(part: str) -> None:
    assert grows_linearly(lambda times: lesson_html(part * times), EXPLANATION_CHARACTERS_MAX // len(part))
