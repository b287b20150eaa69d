"""Points of metrics in the lines that a program prints, by one rule, which docs/cli.md states.

A line is a JSON object, an object as Python prints it, or any text with words of the form `name=number`. Whatever is
in doubt is not a point: a number with commas, a percentage, a unit, a line that is very long or was cut.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Point = dict[str, Any]

LINE_BYTES_MAX = 1 << 16
NAMES_MAX = 1000
"""As many metrics as the portal keeps of one run."""
NAME_LENGTH_MAX = 250
STEP_MAX = 2**53
STEPS = ("step", "global_step")
"""The names whose value is the step of the other values in their line."""
GAP = b"\0\n\0"
"""What stands for output that was left out; what is left of the lines before and after it has a NUL, so they are not
read."""
NAME = rb"[A-Za-z_][A-Za-z0-9_./%@-]{0,249}"
NUMBER = rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|NaN|NAN|inf|Inf|[Ii]nfinity)"
PAIR = re.compile(rb"(?<![^\s,;(\[{|])(" + NAME + rb")=(" + NUMBER + rb")(?=[\s;)\]}|]|,(?![0-9])|$)")
QUOTED = re.compile(rb"'(" + NAME + rb")': (" + NUMBER + rb")(?=[,}])")
ONE_NUMBER = re.compile(NUMBER)


def number(written: str) -> float | None:
    """A number as the rule has it; None for anything else.

    >>> number("1e-3"), number("nan"), number("1,5"), number("90%"), number("")
    (0.001, nan, None, None, None)
    """
    ascii_bytes = written.encode("utf-8", "replace")
    return float(ascii_bytes) if len(ascii_bytes) <= 400 and ONE_NUMBER.fullmatch(ascii_bytes) else None


def values_of(line: bytes) -> dict[str, float]:
    """The numbers in a line by their names, the step among them; empty for a line that has none.

    >>> values_of(b'{"loss": 0.5, "step": 3, "net": "vit", "ok": true}')
    {'loss': 0.5, 'step': 3.0}
    >>> values_of(b"epoch 2 [loss=0.5, acc=.9] n=1,234 gpu=90% --lr=0.1")
    {'loss': 0.5, 'acc': 0.9}
    >>> values_of(b"{'loss': 0.5, 'epoch': 1.0}")
    {'loss': 0.5, 'epoch': 1.0}
    """
    if len(line) > LINE_BYTES_MAX or b"\0" in line:
        return {}
    text = line.strip()
    if text[:1] == b"{" and text[-1:] == b"}":
        return _in_json(text) or {name.decode(): float(written) for name, written in QUOTED.findall(text)}
    return {name.decode(): float(written) for name, written in PAIR.findall(line)}


def _in_json(text: bytes) -> dict[str, float]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, float] = {}
    for name, value in said.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < len(name) <= NAME_LENGTH_MAX:
            try:
                found[name] = float(value)
            except OverflowError:
                continue
    return found


class Reader:
    """Reads output as it comes, in parts of any size; what is left out for its many names is counted in `unnamed`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.unnamed = 0
        self._clock = clock
        self._begun, self._is_long = b"", False
        self._counts: dict[str, int] = {}

    def points(self, part: bytes) -> Iterator[list[Point]]:
        """The points of each line that ended in this part of the output and has some."""
        text = part.replace(b"\r", b"\n")
        if b"=" in text or b"{" in text:
            *lines, rest = text.split(b"\n")
        else:
            # Nothing to read but what completes a line, however many there are.
            first, _, after = text.partition(b"\n")
            lines, rest = ([first], after.rpartition(b"\n")[2]) if len(first) < len(text) else ([], first)
        if lines:
            lines[0] = b"" if self._is_long else self._begun + lines[0]
            self._begun, self._is_long = b"", False
        for line in lines:
            if b"=" in line or line[:1] == b"{" or line[:1] == b" ":
                yield from self._of(line)
        if self._is_long or len(self._begun) + len(rest) > LINE_BYTES_MAX:
            self._begun, self._is_long = b"", True
        else:
            self._begun += rest

    def last(self) -> Iterator[list[Point]]:
        """The points of a last line without an end."""
        yield from self._of(self._begun)
        self._begun = b""

    def _of(self, line: bytes) -> Iterator[list[Point]]:
        values = values_of(line)
        if not values:
            return
        step = next((whole for name in STEPS if (whole := _whole(values.pop(name, None))) is not None), None)
        points = []
        for name, value in values.items():
            count = self._counts.get(name, 0)
            if not count and len(self._counts) >= NAMES_MAX:
                self.unnamed += 1
                continue
            self._counts[name] = count + 1
            points.append(point(name, value, count if step is None else step, self._clock()))
        if points:
            yield points


def point(name: str, value: float, step: int, at: float) -> Point:
    """A point as the portal takes it: JSON has no word for what is no finite number."""
    if value != value:
        return {"name": name, "value": "NaN", "step": step, "time": at}
    if value in (float("inf"), float("-inf")):
        return {"name": name, "value": "Infinity" if value > 0 else "-Infinity", "step": step, "time": at}
    return {"name": name, "value": value, "step": step, "time": at}


def _whole(value: float | None) -> int | None:
    is_whole = value is not None and -STEP_MAX <= value <= STEP_MAX and value == int(value)
    return int(value) if is_whole and value is not None else None
