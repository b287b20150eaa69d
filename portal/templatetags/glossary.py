"""Terms that are explained where they stand, and all together for whoever has no pointer to rest on them."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

BILLED = (
    "The GPU-hours that the job costs the project: hours times GPUs, or more where whole nodes, cores or memory were"
    " requested beyond the share of the GPUs."
)
TERMS = {
    "Unused GPU-hours": "Billed GPU-hours in which the GPUs had no work: an estimate from their measured use.",
    "Used": "GPU-hours in which the GPUs had work: the billed ones without the unused ones.",
    "Billed": BILLED,
    "GPU-hours billed": BILLED,
    "GPU-hours on idle GPUs": "The part of the bill for GPUs that never had work.",
    "Peak GPU memory": "The most that one GPU held at any time, as a share of its capacity.",
    "Mean GPU use": "The share of the time in which a GPU had work, over all measured GPUs and the whole run.",
    "Measured GPU time": "The share of the GPUs and of the run that measurements exist for; the rest is not known.",
    "95th percentile": "In 95 of 100 samples the use was at most this.",
    "Busy CPU cores": "How many cores worked, on average over the run.",
    "Waiting for I/O": "The share of the time in which cores had nothing to do but wait for files.",
    "Idle": "How long a GPU had no work at all.",
    "Ranks": "Processes of the job on a node, as MPI counts them.",
    "Waited in the queue": "From when nothing but the queue kept the job from starting until it started.",
    "State": "The state in which Slurm recorded the end of the job.",
}


@register.filter
def term(label: str) -> str | SafeString:
    """The label with its explanation to rest a pointer on; a label without one stays as it is.

    >>> term("Ranks")
    '<abbr title="Processes of the job on a node, as MPI counts them.">Ranks</abbr>'
    """
    meaning = TERMS.get(label)
    return label if meaning is None else format_html('<abbr title="{}">{}</abbr>', meaning, label)


@register.simple_tag
def all_terms() -> list[tuple[str, str]]:
    """Every term with its explanation, by name."""
    return sorted(TERMS.items())
