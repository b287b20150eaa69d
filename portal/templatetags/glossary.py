"""Terms that are explained where they stand: by a pointer at rest, and by a link to all of them at the foot."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

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
    "Waited in the queue": "Time between submission and start in which only the queue delayed the job.",
    "State": "How the job ended, as recorded by Slurm.",
}


@register.filter
def term(label: str) -> str | SafeString:
    """The label with its explanation, linked to its entry at the foot; a label without one stays as it is.

    >>> term("Idle")
    '<a class="term" href="#term-idle"><abbr title="How long a GPU had no work at all.">Idle</abbr></a>'
    """
    meaning = TERMS.get(label)
    if meaning is None:
        return label
    return format_html('<a class="term" href="#{}"><abbr title="{}">{}</abbr></a>', anchor(label), meaning, label)


def anchor(label: str) -> str:
    """Where the entry of a term stands on its page.

    >>> anchor("Waiting for I/O")
    'term-waiting-for-io'
    """
    return f"term-{slugify(label)}"


@register.simple_tag
def all_terms() -> list[tuple[str, str, str]]:
    """Every term with its explanation and where it stands, by name."""
    return [(name, meaning, anchor(name)) for name, meaning in sorted(TERMS.items())]
