"""What is no part of a work's name: endings of scripts, names that tools give, and the mark of a trial."""

from __future__ import annotations

import re

KEY_LENGTH = 32
"""Of a work's key: 128 bits as hexadecimal digits; two works of one site never share a key by chance."""
HEX = frozenset("0123456789abcdef")

# sbatch names a job after the file of its script by default: sbatch(1), --job-name.
SCRIPT_ENDING = re.compile(r"(?:\.(?:sh|bash|zsh|csh|slurm|sbatch|sub|batch|job|cmd|py))+\Z", re.IGNORECASE)
TRIAL_MARK = "-kaiku-trial-"
"""In the names of runs that `kaiku trial` writes, `train-kaiku-trial-2`, before the number of GPUs."""
GENERIC = frozenset(
    "bash sh zsh csh shell interactive wrap sbatch srun salloc slurm batch script submit job jobs run main start launch"
    " test tests testing debug tmp temp untitled none null python jupyter jupyterlab jupyter-lab jupyter-notebook"
    " notebook lab vscode code-server rstudio desktop".split()
)
"""Names that tools give, or that do not describe the work."""


def is_work_key(text: str) -> bool:
    """Whether this is written like the key of a work.

    >>> is_work_key("0123456789abcdef" * 2), is_work_key("train")
    (True, False)
    """
    return len(text) == KEY_LENGTH and HEX.issuperset(text)
