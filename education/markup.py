"""Markdown of a lesson as HTML that is safe on a page: no script, image or style, and only http and https addresses."""

import nh3
from markdown_it import MarkdownIt

TAGS = set("p br hr h3 h4 h5 h6 strong em s code pre blockquote ul ol li a table thead tbody tr th td".split())
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https"}
# A page and the section that holds a lesson have h1 and h2.
HEADING_SHIFT, HEADING_LOWEST = 2, 6


def lesson_html(markdown: str) -> str:
    """CommonMark with tables as HTML; raw HTML in it is shown as text, and the result is sanitised once more.

    >>> lesson_html("# Use `srun`")
    '<h3>Use <code>srun</code></h3>\\n'
    >>> lesson_html("[x](javascript:alert(1)) <script>alert(1)</script>")
    '<p>[x](javascript:alert(1)) &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + HEADING_SHIFT, HEADING_LOWEST)}"
    html = parser.renderer.render(tokens, parser.options, {})
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noreferrer noopener")
