"""Lays templates out so that they can be reviewed: `python -m tests.template_layout FILE …` rewrites them.

It breaks lines only beside an element that makes a block of its own, where white space does not show, and wraps long
lines where white space stands already; djlint indents. For new templates, once: what is laid out by hand stays so.
Mails and the PDF are left out, and so is what stands in `<pre>`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LINE_LENGTH_MAX = 120
ROOT = Path(__file__).resolve().parent.parent

BLOCKS = set(
    "html head body title meta link script div p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot tr td th"
    " caption form fieldset legend section article header footer nav main aside details summary figure figcaption"
    " blockquote hr option svg g".split()
)
"""Elements beside which white space does not show."""

BREAK_INSIDE = BLOCKS - set("title p h1 h2 h3 h4 h5 h6 li dt dd td th caption legend summary option".split())
"""Those whose content begins on a line of its own."""

TOKEN = re.compile(
    r"(?P<keep><pre\b.*?</pre>|<textarea\b.*?</textarea>|<script\b.*?</script>|\{% comment %\}.*?\{% endcomment %\})"
    r"|(?P<tag>\{%.*?%\}|\{#.*?#\})|(?P<value>\{\{.*?\}\})"
    r"|(?P<html><!--.*?-->|<!doctype[^>]*>|</?[a-zA-Z](?:\"(?:\{%.*?%\}|[^\"])*\"|\{%.*?%\}|\{\{.*?\}\}|[^>\"])*>)"
    r"|(?P<space>\s+)|(?P<text>[^\s<{]+|[<{])",
    re.S | re.I,
)


def block_of(token: str) -> str:
    """The name of an element that makes a block, empty for whatever else."""
    named = re.match(r"</?([a-zA-Z0-9]+)", token)
    return named[1].lower() if named and named[1].lower() in BLOCKS else ""


def is_flow(token: str) -> bool:
    """Whether a template tag shows nothing itself: `if`, `for`, `block` and their ends, not `include` or `url`."""
    return bool(re.match(r"\{% (end)?(if|elif|else|for|empty|block|with|spaceless|load|extends)\b|\{#", token))


def broken(source: str) -> str:
    """The same template with a line break wherever a block begins or ends, over the tags of the flow in between."""
    tokens = [(match.lastgroup, match[0]) for match in TOKEN.finditer(source)]
    assert "".join(text for _, text in tokens) == source
    out = []
    for place, (kind, text) in enumerate(tokens):
        before, after = _solid(tokens, place, -1), _solid(tokens, place, 1)
        if kind == "html" and block_of(text):
            opens = not text.startswith("</")
            out.append(("\n" if opens or block_of(text) in BREAK_INSIDE else "") + text)
            if not opens or block_of(text) in BREAK_INSIDE:
                out.append("\n")
        elif kind == "tag" and is_flow(text) and (_begins(before) and _begins(after)):
            out.append(f"\n{text}\n")
        else:
            out.append(text)
    return re.sub(r"[ \t]*\n\s*", "\n", "".join(out)).strip() + "\n"


def _solid(tokens: list[tuple[str | None, str]], place: int, step: int) -> str:
    """The next thing that shows, over white space and tags of the flow."""
    place += step
    while 0 <= place < len(tokens) and (tokens[place][0] == "space" or is_flow(tokens[place][1])):
        place += step
    return tokens[place][1] if 0 <= place < len(tokens) else ""


def _begins(token: str) -> bool:
    """Whether a block, or the file, begins or ends there, outside of a line of text."""
    return not token or bool(block_of(token))


def wrapped(line: str) -> Iterator[str]:
    """A long line in several, broken at white space outside of tags and just within the element of a block."""
    indent = line[: len(line) - len(line.lstrip())]
    room, parts = LINE_LENGTH_MAX - len(indent) - 2, [""]
    for piece in pieces(line.strip()):
        if parts[-1] and len(parts[-1]) + len(piece.rstrip()) > room:
            parts.append("")
        parts[-1] += piece if parts[-1] else piece.lstrip()
    yield indent + parts[0].rstrip()
    closing = [part.startswith("</") and bool(block_of(part)) for part in parts]
    yield from (
        f"{indent}{'' if last else '  '}{part.rstrip()}" for part, last in zip(parts[1:], closing[1:], strict=True)
    )


def pieces(line: str) -> Iterator[str]:
    """A line in what stays together; white space stands at the begin of a piece."""
    held = ""
    for match in TOKEN.finditer(line):
        token = match[0]
        is_end = token.startswith("</") and bool(block_of(token))
        if held and (match.lastgroup == "space" or is_end):
            yield held
            held = ""
        held += token
        if match.lastgroup == "html" and block_of(token) and not is_end:
            yield held
            held = ""
    yield held


def lay_out(paths: list[Path]) -> None:
    """Rewrite these templates: break, indent, wrap."""
    for path in paths:
        path.write_text(broken(path.read_text()))
    indent = [sys.executable, "-m", "djlint", "--reformat", "--quiet", "--warn", *map(str, paths)]
    subprocess.run(indent, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    for path in paths:
        lines = path.read_text().splitlines()
        made = [part for line in lines for part in (wrapped(line) if len(line) > LINE_LENGTH_MAX else [line])]
        path.write_text("\n".join(made) + "\n")


if __name__ == "__main__":
    lay_out([Path(name).resolve() for name in sys.argv[1:]])
