"""What of a script may leave the machine: resource options and the job's name, by an allow list.

Never the script, its path, its commands, variables or arguments, nor any option that names a file, a person's text or
a command (`--output`, `--chdir`, `--comment`, `--export`, `--wrap` and so on): they are not in the list.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wire.sbatch.arrays import Array, array_of
from wire.sbatch.resources import GPU_OPTIONS, RESOURCES
from wire.sbatch.rules import gpus_of, memory_forms
from wire.sbatch.script import Component, Script

SHARED = (*RESOURCES, "constraint", "qos", "account")
"""Resources, and what chooses nodes and pays."""
NAMES = frozenset({"account", "constraint", "partition", "qos"})
"""Those that only choose by name: without one of them the others still make sense."""
VALUE = re.compile(r"[\w.:,=&|!*()\[\]%+-]{0,200}\Z", re.ASCII)
"""No blanks, quotes, slashes, dollars or control characters: a value that could hold anything else is left out."""
NAME_CHARACTERS_MAX = 200
DAYS_DIGITS_MAX = 5
"""A limit of more days is none: 270 years."""


class SharedComponent(NamedTuple):
    """What the portal gets of one component.

    `options` has the form of `jobs.sbatch`: `{"--gpus-per-node": "mi250:8", "--exclusive": ""}`. `array` is None where
    the job is no array.
    """

    options: dict[str, str]
    job_name: str
    array: Array | None


def shared(script: Script) -> list[SharedComponent]:
    """What may leave the machine, one for each component; values in Slurm's normal form."""
    return [
        SharedComponent(
            resource_options(component),
            printable_name(component.options.get("job-name", "")),
            array_of(component.options.get("array", "")),
        )
        for component in script.components
    ]


def resource_options(component: Component) -> dict[str, str]:
    """The resource options that count, as `jobs.sbatch` maps them; a flag's value is "".

    Left out are a memory option of the environment where script or arguments set another, and an option without its
    value (`--gpus=`): to Slurm neither is set.
    """
    own, outside = memory_forms(component)
    not_used = set(outside if own else ())
    if component.options.get("exclusive") == "oversubscribe":
        not_used.add("exclusive")
    found = {}
    for name in SHARED:
        value = component.options.get(name)
        if not value or name in not_used or not VALUE.match(value):
            continue
        spelled = _spelled(name, value)
        if spelled or name == "exclusive":
            found[f"--{name}"] = spelled
    return found


def left_out(component: Component) -> list[str]:
    """The resource options whose values are none that may leave the machine."""
    return [name for name in SHARED if not VALUE.match(component.options.get(name, ""))]


def _spelled(name: str, value: str) -> str:
    """A value as the portal reads it: nothing for a flag, one GPU where only its type is named, no odd limit."""
    if (name, value) == ("exclusive", "exclusive"):
        return ""
    if name == "time" and len(value.partition("-")[0]) > DAYS_DIGITS_MAX and "-" in value:
        return "UNLIMITED"
    gpus = gpus_of(name, value) if name in GPU_OPTIONS else None
    return value if gpus is None else ",".join(f"{kind}:{count}" if kind else str(count) for kind, count in gpus)


def printable_name(name: str) -> str:
    """The job's name without what is not printable, and no path from the root or a home: only its last part.

    >>> printable_name("cp2k/water"), printable_name("/scratch/alice/run.sh"), printable_name("a\\x1b[0m")
    ('cp2k/water', 'run.sh', 'a[0m')
    """
    last = name.rstrip("/").rpartition("/")[2] if name.strip().startswith(("/", "~", "$", ".")) else name
    return "".join(letter for letter in last if letter.isprintable())[:NAME_CHARACTERS_MAX]
