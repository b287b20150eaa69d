"""How tags are written: some short words with commas between them; and how much a note may hold."""

NOTE_LENGTH_MAX = 2000
TAG_LENGTH_MAX, TAGS_MAX = 32, 10


def tags_in(text: str) -> tuple[str, ...]:
    """The tags of a line in their order; one that comes again in other capitals is the first.

    >>> tags_in(" baseline, Paper 2,, BASELINE ")
    ('baseline', 'Paper 2')
    """
    names = (" ".join(part.split()) for part in text.split(","))
    once: dict[str, str] = {}
    for name in names:
        if name:
            once.setdefault(name.casefold(), name)
    return tuple(once.values())
