"""What Slurm records of a script, as the reader sees it."""

from __future__ import annotations

from wire.sbatch.script import Script


def is_accepted(script: Script) -> bool:
    """Whether sbatch accepts it, as far as that is known without the cluster."""
    return not script.refusals


def slurm_options(script: Script) -> list[dict[str, str]]:
    """The options of each component: none where Slurm refuses the script while it reads."""
    return [dict(component.options) for component in script.components[: script.recorded]]
