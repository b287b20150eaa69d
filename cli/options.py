"""Reading a command line; `argparse` would cost a whole start of Python.

An option is `--name`, or `--name VALUE` and `--name=VALUE`; `--` ends the options. A command that passes words on to
another program ends its options with its first word.
"""

from __future__ import annotations

from cli.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FLAG, TEXT, MANY = "flag", "text", "many"
SHORT = {"-h": "--help", "-V": "--version", "-o": "--output"}


def whole(low: int, high: int) -> Callable[[str], int]:
    """A kind of option: a whole number within these limits."""

    def read(written: str) -> int:
        if not written.isascii() or not written.isdecimal() or len(written) > 9 or not low <= int(written) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(written)

    return read


def one_of(*values: str) -> Callable[[str], str]:
    """A kind of option: one of these words."""

    def read(written: str) -> str:
        if written not in values:
            raise ValueError("one of " + ", ".join(values))
        return written

    return read


class Options:
    """What a command line says: the words, and the options that were given, by name without dashes."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._given: dict[str, object] = {}

    def flag(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str, default: str = "") -> str:
        return str(self._given.get(name, default))

    def texts(self, name: str) -> list[str]:
        """Every value of an option that may be given more than once (MANY)."""
        given = self._given.get(name)
        return [str(value) for value in given] if isinstance(given, list) else []

    def number(self, name: str, default: int) -> int:
        given = self._given.get(name, default)
        return given if isinstance(given, int) else default

    def read(self, arguments: Sequence[str], known: Mapping[str, object], *, stops_at_word: bool = False) -> Options:
        """Take a part of a command line, with its own words; `known` has the kind of each option (FLAG, TEXT, MANY,
        or a function). Raises Usage.
        """
        self.words, rest = [], list(arguments)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.words += rest
                break
            if word[:2] != "--" and word not in SHORT:
                self.words.append(word)
                if stops_at_word:
                    self.words += rest
                    break
                continue
            self._take(SHORT.get(word, word), known, rest)
        return self

    def _take(self, word: str, known: Mapping[str, object], rest: list[str]) -> None:
        name, separator, value = word[2:].partition("=")
        kind = known.get(name)
        if kind is None:
            raise Usage(f"unknown option --{name[:60]}")
        if kind == FLAG:
            if separator:
                raise Usage(f"--{name} takes no value")
            self._given[name] = True
            return
        if not separator:
            # Another option is no value that was meant; `--name=-x` is one.
            if not rest or (rest[0].startswith("-") and rest[0] != "-"):
                raise Usage(f"--{name} needs a value")
            value = rest.pop(0)
        if kind == MANY:
            self._given[name] = [*self.texts(name), value]
        else:
            self._given[name] = _value(name, kind, value)


def _value(name: str, kind: object, written: str) -> object:
    if not callable(kind):
        return written
    try:
        return kind(written)
    except ValueError as error:
        raise Usage(f"--{name} must be {error}") from error
