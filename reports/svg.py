"""matplotlib's SVG for use in a page: no style that a strict policy refuses, no id that another figure has."""

import re

PREAMBLE = re.compile(rb"\A.*?(?=<svg )", re.DOTALL)
METADATA = re.compile(rb"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style .*?</style>\s*</defs>", re.DOTALL)
STYLE = re.compile(rb'style="([^"]*)"')
ID = re.compile(rb'(\bid="|url\(#|href="#)')
PATH = re.compile(rb' d="[^"]*"')
LONG_NUMBER = re.compile(rb"\d+\.\d{3,}")
# What matplotlib's own style element sets for every shape, and its font with a fallback of the same widths, as
# attributes that are inherited.
ROOT = b'<svg stroke-linejoin="round" stroke-linecap="butt" font-family="DejaVu Sans, Verdana, sans-serif" '
FONT = b"font-family"

COLOUR = re.compile(rb'(?<=")#[0-9a-f]{6}(?=")')
# The colours of the figures and what they are on dark paper; those of measured values in an image stay.
ON_DARK = {
    b"#ffffff": b"#111a20",
    b"#1d2b36": b"#e6edf2",
    b"#5b6b78": b"#a2b2be",
    b"#c9d3da": b"#42535f",
    b"#0f6b8f": b"#6cc3e2",
    b"#9ecbdd": b"#5fb0cc",
    b"#e7edf1": b"#26343d",
    b"#b3005e": b"#ff7ab8",
}


def page_svg(svg: bytes, name: str) -> bytes:
    """The same picture with presentation attributes in place of styles, and ids that begin with the figure's name."""
    svg = METADATA.sub(b"", PREAMBLE.sub(b"", svg)).replace(b"<svg ", ROOT, 1)
    svg = ID.sub(rb"\g<1>" + name.encode() + b"-", STYLE.sub(_attributes, svg))
    return PATH.sub(_shorter, svg)


def on_dark(svg: bytes) -> bytes:
    """The same picture for a dark page.

    >>> on_dark(b'<path fill="#ffffff" stroke="#c0ffee"/>')
    b'<path fill="#111a20" stroke="#c0ffee"/>'
    """
    return COLOUR.sub(lambda colour: ON_DARK.get(colour[0], colour[0]), svg)


def _attributes(style: re.Match[bytes]) -> bytes:
    """What matplotlib writes are presentation attributes too (SVG 1.1, appendix N); ROOT has the font."""
    pairs = (declaration.partition(b":") for declaration in style[1].split(b";") if declaration.strip())
    named = ((name.strip(), value.strip()) for name, _, value in pairs)
    return b" ".join(b'%s="%s"' % (name, value) for name, value in named if name != FONT)


def _shorter(path: re.Match[bytes]) -> bytes:
    """Hundredths of a point are finer than any screen or printer."""
    return LONG_NUMBER.sub(lambda number: b"%.2f" % float(number[0]), path[0])
