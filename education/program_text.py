"""The names and situations of a program as lines of text: stored so, edited so, and compared line by line."""

from __future__ import annotations

from collections.abc import Iterable

from education.lesson import Situation


def names_of(text: str) -> tuple[str, ...]:
    """The names in the lines of a text, in lower case with one blank between words.

    >>> names_of("GROMACS*\\n\\n quantum  espresso ")
    ('gromacs*', 'quantum espresso')
    """
    names = (" ".join(line.lower().split()) for line in text.splitlines())
    return tuple(dict.fromkeys(name for name in names if name))


def situations_of(text: str) -> tuple[Situation, ...]:
    """The situations in the lines of a text; a line without a colon has an empty text.

    >>> situations_of("idle_gpus: Start one rank for each GPU.")
    (Situation(code='idle_gpus', text='Start one rank for each GPU.'),)
    """
    parts = (line.partition(":") for line in text.splitlines() if line.strip())
    return tuple(Situation(code.strip(), " ".join(said.split())) for code, _, said in parts)


def names_text(names: Iterable[str]) -> str:
    """One name in each line."""
    return "\n".join(names)


def situations_text(situations: Iterable[Situation]) -> str:
    """One situation in each line.

    >>> situations_text([Situation("timeout", "Save more often.")])
    'timeout: Save more often.'
    """
    return "\n".join(f"{each.code}: {each.text}" for each in situations)
