"""The script with the portal's suggestion made: which lines change, and what cannot be changed there."""

from __future__ import annotations

from typing import NamedTuple

from cli.answers import objects, text, texts, value
from wire.sbatch.reading import read_script
from wire.sbatch.rewriting import Change, rewritten
from wire.sbatch.sharing import SHARED, resource_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cli.job_script import JobScript
    from cli.session import Session

CHANGEABLE = frozenset(SHARED) - {"account", "qos"}
"""What a suggestion may change: no option that names a file, a command or who pays, whatever the portal answers."""


class Suggested(NamedTuple):
    """The new script, the changes of each component, and what is not in the script, as sentences."""

    script: bytes
    changes: tuple[tuple[Change, ...], ...]
    not_changed: tuple[str, ...]


def suggested(session: Session, job: JobScript, answer: dict[str, Any]) -> Suggested:
    """The script as it would be by a portal's answer to it; the same bytes where nothing is suggested."""
    source, content, every, missed = job.script, job.content, [], []
    for place, said in enumerate(objects(answer, "components")[: len(job.script.components)]):
        changes = changes_of(value(said, "suggestion"), resource_options(source.components[place]))
        every.append(tuple(changes))
        if not changes:
            continue
        made = rewritten(source, place, changes)
        wanted = {change.option: change.recommended for change in changes}
        missed += [_missed(each.option, each.reason, wanted.get(each.option, "")) for each in made.not_changed]
        content = made.script
        source = read_script(content, session.environ, job.words.sbatch, source.version)
    return Suggested(content, tuple(every), tuple(missed))


def changes_of(suggestion: object, options: Mapping[str, str]) -> list[Change]:
    """The changes of a suggestion: those that it lists, or those that lead to the whole request that it names."""
    listed = [
        Change(text(each, "option"), text(each, "requested"), text(each, "recommended"))
        for each in objects(suggestion, "changes")
    ]
    if not listed:
        wanted = {name: value for name, _, value in (line.partition("=") for line in texts(suggestion, "request"))}
        replaced = [name for name in options if name[2:] in CHANGEABLE - {"constraint"} and name not in wanted]
        listed = [Change(name, options[name], "") for name in replaced if wanted]
        listed += [Change(name, options.get(name, ""), value) for name, value in wanted.items()]
    return [change for change in listed if change.option[2:] in CHANGEABLE and _is_change(change, options)]


def _is_change(change: Change, options: Mapping[str, str]) -> bool:
    """Whether anything differs afterwards; a flag, which has no value, can only be left out."""
    is_option = change.option.startswith("--")
    return is_option and (not change.recommended or options.get(change.option) != change.recommended)


def change_line(change: Change) -> str:
    """A change for people, as other commands and hints write it.

    >>> change_line(Change("--gpus", "8", "2")), change_line(Change("--mem", "", "60G"))
    ('--gpus=8 → --gpus=2', 'add --mem=60G')
    >>> change_line(Change("--exclusive", "", ""))
    'leave out --exclusive'
    """
    if change.recommended and not change.requested:
        return f"add {change.option}={change.recommended}"
    before = f"{change.option}={change.requested}" if change.requested else change.option
    return f"{before} → {change.option}={change.recommended}" if change.recommended else f"leave out {before}"


def _missed(option: str, reason: str, recommended: str) -> str:
    instead = f"Set {option}={recommended} there." if recommended else f"Leave {option} out there."
    return f"{option}: {reason}" + (f" {instead}" if reason.startswith("The value comes from") else "")
