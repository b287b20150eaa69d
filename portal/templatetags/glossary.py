"""Terms that are explained where they stand: in a box that a click opens."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

register = template.Library()

BILLED = (
    "The GPU-hours that the job costs the project: hours times modules of two GPUs, so half an hour for an hour of one"
    " GPU; more where whole nodes, cores or memory were requested beyond the share of the GPUs."
)
TERMS = {
    "Unused GPU-hours": (
        "Billed GPU-hours in which the GPUs had no work: an estimate from their measured use. What was not measured is"
        " not counted."
    ),
    "Used": "The billed GPU-hours without the unused and the unmeasured ones: also what is billed for cores or memory.",
    "Not measured": "Billed GPU-hours of the GPUs, or of the time, without measurements: they are not judged.",
    "Billed": BILLED,
    "GPU-hours billed": BILLED,
    "GPU-hours on idle GPUs": "The part of the bill for GPUs that never had work.",
    "Peak GPU memory": "The most memory that one GPU used at any time, as a share of its capacity.",
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
    """The label as a button that opens its explanation; a label without one stays as it is.

    >>> term("Idle")
    '<button type="button" class="term" popovertarget="term-idle">Idle</button>'
    """
    if label not in TERMS:
        return label
    return format_html('<button type="button" class="term" popovertarget="{}">{}</button>', anchor(label), label)


def anchor(label: str) -> str:
    """The id of the box that explains a term.

    >>> anchor("Waiting for I/O")
    'term-waiting-for-io'
    """
    return f"term-{slugify(label)}"


@register.simple_tag
def all_terms() -> list[tuple[str, str, str]]:
    """Every term with its explanation and where it stands, by name."""
    return [(name, meaning, anchor(name)) for name, meaning in sorted(TERMS.items())]
