"""Which well-known program a job ran, as far as its name shows it; only the family is kept, never the name."""

from __future__ import annotations

import re

UNKNOWN = "unknown"

WORDS = {
    "gromacs": ("gromacs", "gmx", "mdrun"),
    "lammps": ("lammps", "lmp"),
    "cp2k": ("cp2k",),
    "vasp": ("vasp",),
    "quantum_espresso": ("espresso", "quantumespresso", "pwscf"),
    "gpaw": ("gpaw",),
    "namd": ("namd",),
    "amber": ("amber", "pmemd"),
    "openmm": ("openmm",),
    "alphafold": ("alphafold",),
    "nekrs": ("nekrs",),
    "icon": ("icon",),
    "pytorch": ("pytorch", "torch", "torchrun", "ddp", "fsdp", "deepspeed", "megatron"),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax", "flax"),
    "vllm": ("vllm",),
    "llm_training": ("llm", "llama", "gpt", "bert", "finetune", "pretrain"),
}
"""Family -> words of a job name. Words that mean something else as often (`md`, `train`, `run`) are not in it."""

FAMILIES = {word: family for family, words in WORDS.items() for word in words}


def program_family(job_name: str) -> str:
    """The family of the first word that is known, digits and case aside; `unknown` where there is none.

    >>> program_family("gromacs_md"), program_family("GMX-2024.run3"), program_family("my_train")
    ('gromacs', 'gromacs', 'unknown')
    """
    words = re.findall(r"[a-z]+(?:\d[a-z]+)?", job_name.lower()[:256])
    return next((FAMILIES[word] for word in words if word in FAMILIES), UNKNOWN)
