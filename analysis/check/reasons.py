"""Why nothing is suggested, as precisely as it is known: the name, the project, the partition, or too few runs."""

from collections.abc import Sequence

from analysis.check.asked import Asked
from analysis.check.earlier import (
    AS_SUGGESTED,
    FEW_FIT,
    FITS,
    NO_GPUS,
    NO_NAME,
    NO_PARTITION,
    NO_RUNS,
    OTHER_PROJECT,
    OTHER_SIZE,
    TIMES_MIN,
    UNKNOWN_PARTITION,
    Earlier,
)
from analysis.check.risks import risks
from analysis.works.best_request import RECENT_MAX, needed_gpus
from jobs.hardware import clusters, partition_of


def why_nothing(why: str, request: Asked, found: Earlier, *, has_name: bool, other_projects: Sequence[str]) -> str:
    """The reason that a person can act on, of `why` and what else is known of the request."""
    if why == NO_RUNS and not has_name:
        return NO_NAME
    if why in (NO_RUNS, NO_PARTITION) and (partition := _partition_not_described(request)):
        return partition
    if why == NO_RUNS and other_projects:
        return OTHER_PROJECT
    # What earlier runs show to fail matches no suggestion, whatever its GPUs are.
    if why == OTHER_SIZE and is_as_suggested(found, request) and not risks(found, request):
        return AS_SUGGESTED
    return FEW_FIT if why == FITS and len(found.completed) < TIMES_MIN else why


def is_as_suggested(found: Earlier, request: Asked) -> bool:
    """Whether a request has the GPUs that the last completed runs, of which some had more, needed."""
    if request.shape is None or request.partition is None or not request.shape.gpus:
        return False
    node = request.partition.node
    places = ((run, partition_of(run.cluster, run.partition)) for run in found.runs if run.is_comparable)
    recent = [run for run, place in places if place is not None and place.node == node][:RECENT_MAX]
    needed = [needed_gpus(run) for run in recent]
    return max(needed, default=0) == request.shape.gpus and any((run.gpus or 0) > max(needed) for run in recent)


def _partition_not_described(request: Asked) -> str:
    """Why the requested partition is not known: it has no GPUs, or the site's profile does not name it."""
    name, known = request.options.get("--partition", "").partition(",")[0], clusters().get(request.cluster)
    if not name or known is None or request.partition is not None:
        return ""
    is_for_cpus = any(partition.cpu_partition == name for partition in known.partitions.values())
    return NO_GPUS if is_for_cpus else UNKNOWN_PARTITION
