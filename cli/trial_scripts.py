"""Short runs of a script at several sizes: the scripts, their names, and what the portal says of each.

The job's name ends with `-kaiku-trial-` and the number of GPUs: the portal reads it as the same work, and compares
such runs with each other alone (`jobs.work_key`).
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from cli.errors import Usage
from cli.trial_sizes import NoSize, Size, resized
from wire.sbatch.arrays import array_of
from wire.sbatch.reading import read_script
from wire.sbatch.rewriting import Change, rewritten
from wire.work_names import GENERIC, SCRIPT_ENDING, TRIAL_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.sbatch.script import Script

JOB_NAME_CHARACTERS_MAX = 256
"""The portal stores no more of a job's name."""
COUNTER = re.compile(r"[\W_]*[0-9]+\Z")
OWN_FILE = re.compile(r"%\d*[AJjx]")
"""What makes the name of an output file different from run to run (sbatch(1), filename pattern)."""


class Trial(NamedTuple):
    """One trial: its number of GPUs, the script with its changes made, and the job's name."""

    gpus: int
    content: bytes
    job_name: str


def work_name(job_name: str) -> str:
    """The name that trials of a job begin with. Raises Usage where the portal would recognise no work by it.

    >>> work_name("train.sbatch"), work_name("llama_v2-kaiku-trial-4")
    ('train', 'llama_v2')
    """
    name = SCRIPT_ENDING.sub("", job_name.strip())
    name = SCRIPT_ENDING.sub("", name.partition(TRIAL_MARK)[0])
    plain = COUNTER.sub("", name.lower())
    if plain in GENERIC or not any(letter.isalpha() for letter in plain):
        raise Usage(
            f"the job name {job_name[:60]!r} is too general to recognise runs of one work: set --job-name in the"
            " script, or use --name NAME"
        )
    if len(name) + len(TRIAL_MARK) + 6 > JOB_NAME_CHARACTERS_MAX:
        raise Usage(f"the job's name has more than {JOB_NAME_CHARACTERS_MAX} characters: use --name NAME")
    return name


def trial(
    script: Script, environ: Mapping[str, str], now: Size, gpus: int, *,
    name: str, time_limit: str, node_gpus: int | None = None,
) -> Trial:  # fmt: skip
    """The script as a trial on this number of GPUs. Raises NoSize, and Usage if the environment prevents it."""
    options = script.components[0].options
    job_name = f"{name}{TRIAL_MARK}{gpus}"
    changes = [*resized(options, now, gpus, node_gpus), *_other_changes(options, gpus, job_name, time_limit)]
    made = rewritten(script, 0, changes)
    for missed in made.not_changed:
        raise Usage(f"{missed.option}: {missed.reason[:1].lower()}{missed.reason[1:]} A trial sets it in its script.")
    read = read_script(made.script, environ, (), script.version)
    if read.refusals:
        raise NoSize(read.refusals[0].sentence.rstrip("."))
    return Trial(gpus, made.script, job_name)


def file_name(path: str, gpus: int) -> str:
    """The name of a trial's script.

    >>> file_name("runs/job.sbatch", 2), file_name("job", 4)
    ('job.gpus2.sbatch', 'job.gpus4')
    """
    stem, ending = os.path.splitext(os.path.basename(path))
    return f"{stem}.gpus{gpus}{ending}"


def _other_changes(options: Mapping[str, str], gpus: int, job_name: str, time_limit: str) -> list[Change]:
    """The name, the limit, one task of an array, and output files of its own."""
    wanted = {"job-name": job_name, "time": time_limit}
    if "time-min" in options:
        wanted["time-min"] = ""
    if array_of(options.get("array", "")):
        wanted["array"] = re.split(r"[^0-9]", options["array"].lstrip("["))[0]
    for name in ("output", "error"):
        if options.get(name) and not OWN_FILE.search(options[name]) and not options[name].startswith("/dev/"):
            wanted[name] = f"{options[name]}.gpus{gpus}"
    return [Change(f"--{option}", options.get(option, ""), value) for option, value in wanted.items()]
