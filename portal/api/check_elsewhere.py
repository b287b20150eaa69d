"""A request on other partitions and platforms, as it is and right-sized; and the list of these places."""

from collections.abc import Sequence
from datetime import date

from analysis.check.asked import Asked, Fit, fit
from analysis.check.elsewhere import Need, Offer, choice, offer
from analysis.check.suggestion import Suggestion
from jobs.hardware import Partition, clusters, site
from jobs.sbatch import Shape, apply, parse_block
from jobs.site_factors import GPU_HOUR, valid_on
from jobs.site_platforms import Platform
from portal.api.check_answers import ElsewhereAnswer, OfferAnswer, PlatformAnswer, PlatformPrice
from portal.api.check_costs import Waits, cost_of
from reports.check_texts import choice_text, offer_text, why_not_fit, why_not_there
from reports.from_rows import struct_from
from reports.numbers import unbroken
from wire.numbers import counted, duration, hours

LIMIT, TYPICAL, ENDED = "limit", "typical", "ended"
NOT_KNOWN = "How long runs take on other GPUs is not known."


def elsewhere(
    request: Asked,
    places: Sequence[Fit],
    given: Suggestion | None,
    run_s: float | None,
    gpu_memory_gb: float | None,
    waits: Waits,
    tasks: int,
) -> tuple[list[ElsewhereAnswer], str]:
    """Every partition of the cluster and every platform of the profile; and whether right-sizing changes the choice."""
    shape, day = request.shape, waits.history.at.date()
    if shape is None or not shape.gpus:
        return [], ""
    smaller = _right_sized(request, given)
    # How long a run takes as it is, and with the suggestion.
    times_s = run_s, given.run_s if smaller is not None and given is not None else None
    found = [_in_partition(request, place, smaller, times_s, waits, tasks) for place in places]
    for platform in site().platforms:
        offers = [
            offer(platform, Need(each, time_s or each.walltime_s, gpu_memory_gb), request.cluster, request.partition)
            for each, time_s in zip((shape, smaller.shape if smaller else None), times_s, strict=True)
            if each is not None
        ]
        found.append(_on_platform(platform, offers, TYPICAL if run_s else LIMIT, tasks))
    before = choice([(each.platform, *_money(each.as_is, day)) for each in found], shape.partition)
    after = choice([(each.platform, *_money(each.right_sized, day)) for each in found], shape.partition)
    return found, choice_text(before, after)


def _right_sized(request: Asked, given: Suggestion | None) -> Asked | None:
    """The request with the suggestion made."""
    if given is None or given.wanted.gpus == 0:
        return None
    options = parse_block(given.block) if given.block else apply(request.options, given.changes)
    return Asked(request.cluster, options, request.partition, given.wanted, "")


def _in_partition(
    request: Asked,
    place: Fit,
    smaller: Asked | None,
    times_s: tuple[float | None, float | None],
    waits: Waits,
    tasks: int,
) -> ElsewhereAnswer:
    fitting = fit(smaller, place.partition) if smaller else None
    is_same = request.partition is not None and place.partition.node == request.partition.node
    typical_s, smaller_s = times_s if is_same else (None, None)
    return ElsewhereAnswer(
        platform=place.partition.name,
        kind="partition",
        fits=not place.why_not,
        why_not=why_not_fit(place) or None,
        as_is=_partition_offer(request, place, typical_s, waits, tasks),
        right_sized=_partition_offer(request, fitting, smaller_s, waits, tasks) if fitting else None,
        source="site profile",
    )


def _partition_offer(
    request: Asked, place: Fit, typical_s: float | None, waits: Waits, tasks: int
) -> OfferAnswer | None:
    if place.why_not or place.shape is None:
        return None
    cost = cost_of(place.partition, place.shape, typical_s, tasks)
    # A run that its limit ends is not done: what it costs is that of the limit, and no run time of a whole one.
    limit_s = place.shape.walltime_s
    is_ended = typical_s is not None and limit_s is not None and typical_s > limit_s
    typical_s = None if is_ended else typical_s
    at = ENDED if is_ended else TYPICAL if typical_s is not None else LIMIT
    amount = None if cost is None else cost.typical if at == TYPICAL else cost.at_limit
    wait = waits.of(request.cluster, place.partition.name, place.shape)
    parts = [cost.text] if cost else [f"{counted(place.shape.gpus, 'GPU')}: the cost is not known"]
    if wait is not None and typical_s is not None:
        parts.append(f"wait and run time together typically {duration(wait.typical_s + typical_s)}")
    unit = cost.unit if cost else None
    return OfferAnswer(place.shape.gpus, amount, unit, at, wait, typical_s, "; ".join(parts))


def _on_platform(platform: Platform, offers: Sequence[Offer], at: str, tasks: int) -> ElsewhereAnswer:
    first, *others = offers
    answers = [
        None
        if each.why_not
        else OfferAnswer(
            each.gpus,
            None if each.cost is None else each.cost * tasks,
            platform.unit,
            at,
            None,
            each.run_s,
            offer_text(each, at),
        )
        for each in offers
    ]
    return ElsewhereAnswer(
        platform=platform.name,
        kind=platform.kind,
        fits=not first.why_not,
        why_not=why_not_there(first) or None,
        as_is=answers[0],
        right_sized=answers[1] if others else None,
        source=_source(platform),
    )


def _source(platform: Platform) -> str:
    """Where the price comes from, with its day."""
    if platform.price_source is None:
        return "site profile, without a price"
    return f"{platform.price_source} ({platform.price_on})"


def _money(found: OfferAnswer | None, day: date) -> tuple[float | None, str]:
    """A cost for comparison: GPU-hours in money where the site states what one costs."""
    if found is None or found.cost is None or found.unit is None:
        return None, ""
    costs = [cost for cost in site().costs if cost.per == GPU_HOUR]
    factor = valid_on(costs, day) if found.unit == GPU_HOUR else None
    return (found.cost * factor.amount, factor.currency) if factor else (found.cost, found.unit)


def platforms() -> list[PlatformAnswer]:
    """The partitions of the site's profile, then the other places that it lists."""
    own = [
        _of_partition(name, partition)
        for name, cluster in clusters().items()
        for partition in cluster.partitions.values()
    ]
    return [*own, *(_of_platform(platform) for platform in site().platforms)]


def _of_partition(cluster: str, partition: Partition) -> PlatformAnswer:
    node = partition.node
    one_gpu = Shape(nodes=1, gpus=1, cores=1, memory_gb=1.0, partition=partition.name)
    one = cost_of(partition, one_gpu, 3600.0, 1)
    price = None
    if one is not None and one.typical is not None:
        gpus = node.gpus if partition.is_exclusive else 1
        price = PlatformPrice(one.unit, one.typical / gpus, "site profile", None)
    whole = "Whole nodes" if partition.is_exclusive else "Parts of nodes"
    return PlatformAnswer(
        name=partition.name,
        cluster=cluster,
        kind="partition",
        gpu_name=node.gpu_name,
        gpus_per_node=node.gpus,
        gpu_memory_gb=node.gpu_memory_gb,
        cores_per_node=node.cores,
        host_memory_gb=node.host_memory_gb,
        nodes_max=partition.nodes_max,
        walltime_max_s=partition.walltime_max_s,
        is_whole_nodes=partition.is_exclusive,
        price=price,
        run_time_factor=None,
        run_time_factor_source="",
        text=unbroken(f"{whole}; more cores or memory than come with the GPUs may cost more."),
    )


def _of_platform(platform: Platform) -> PlatformAnswer:
    price = None
    if platform.price_per_gpu_hour and platform.unit and platform.price_source:
        price = PlatformPrice(platform.unit, platform.price_per_gpu_hour, platform.price_source, platform.price_on)
    text = NOT_KNOWN
    if platform.run_time_factor is not None:
        text = f"Measured: runs take {platform.run_time_factor:g} times as long as on {platform.run_time_factor_from}."
    if price is not None:
        text = f"{hours(price.per_gpu_hour)} {price.unit} for a GPU and hour. {text}"
    source = platform.run_time_factor_source or ""
    more = {"cluster": None, "price": price, "run_time_factor_source": source, "text": unbroken(text)}
    return struct_from(PlatformAnswer, platform, **more)
