"""A site's GPU machines, read from its profile: one TOML file with node types, prices, clusters and their partitions.

The bundled ones are in `jobs/sites`. A profile with any error is refused; the message names the file and the key.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from jobs.site_factors import Cost, Emission, F
from jobs.site_platforms import Amount, Count, Platform, problem_of

FOLDER = Path(__file__).resolve().parent / "sites"

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")]
Label = Annotated[str, Meta(max_length=64)]
Address = Annotated[str, Meta(pattern=r"\Ahttps?://[^\s/]+[^\s]*\Z", max_length=500)]
Fraction = Annotated[float, Meta(gt=0, lt=1)]
T = TypeVar("T")

MISSING = re.compile(r"Object missing required field `(.*)`")


class SiteProfileError(ValueError):
    """A profile that cannot be used; the message names the file, the key and what is wrong."""


class BadKeyError(ValueError):
    """What is wrong at one key of a profile, `clusters.lumi.partitions.small-g.node` for example."""


@dataclass(frozen=True)
class NodeType:
    """One kind of node.

    `cores` are the physical cores a job can get; `host_memory_gb` is what Slurm allocates, in 2^30 bytes.
    `gpus` counts what Slurm counts: dies of an MI250X, MIG instances of a divided GPU. `gpus_per_module` of them share
    one power reading with the cap `module_power_cap_w`. `gres_type` is Slurm's type of them, empty where it has none.
    """

    gpus: Count
    cores: Count
    host_memory_gb: Amount
    gpu_memory_gb: Amount
    gpus_per_module: Count
    module_power_cap_w: Amount
    gpu_name: Label = ""
    vendor: Literal["amd", "nvidia", ""] = ""
    gres_type: Label = ""

    @property
    def cores_per_gpu(self) -> int:
        return self.cores // self.gpus

    @property
    def host_memory_share_gb(self) -> float:
        """Host memory that comes with one GPU."""
        return self.host_memory_gb / self.gpus


@dataclass(frozen=True)
class SmallerGpu:
    """A part of a GPU in another partition, such as a MIG instance: `share` is its part of one GPU's compute."""

    partition: Name
    gres: Label
    memory_gb: Amount
    share: Fraction


@dataclass(frozen=True)
class Price:
    """What an hour of an allocation costs, in `unit`.

    Every whole allocated node costs `per_node_hour`. Anything else costs `per_slice_hour` for each of its slices:
    the most, or the sum, of its slices by GPUs, cores and host memory (2^30 bytes); one that is None is not billed.
    `whole_slices` rounds each of the three up. Without `per_node_hour` whole nodes are billed by slices as well.
    """

    per_slice_hour: Amount
    per_node_hour: Amount | None = None
    gpus_per_slice: Amount | None = None
    cores_per_slice: Amount | None = None
    memory_gb_per_slice: Amount | None = None
    combine: Literal["max", "sum"] = "max"
    whole_slices: bool = True
    unit: Label = "GPU-hour"


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One Slurm partition with GPUs: `is_exclusive` allocates whole nodes.

    `shared_twin` allocates parts of the same nodes, `exclusive_twin` whole ones, `cpu_partition` is for work without
    GPUs. `default_memory_gb` is the host memory of a node that a request without any memory option gets,
    `default_memory_per_core_gb` the same where it grows with the cores; without either it is all of the node.
    `nodes_max` and `walltime_max_s` are None where there is no limit, `price` is None where no bill is known.
    """

    name: Name
    node: NodeType
    is_exclusive: bool
    nodes_max: Count | None = None
    walltime_max_s: Count | None = None
    shared_twin: Name | None = None
    exclusive_twin: Name | None = None
    cpu_partition: Name | None = None
    smaller_gpu: SmallerGpu | None = None
    default_memory_gb: Amount | None = None
    default_memory_per_core_gb: Amount | None = None
    price: Price | None = None


@dataclass(frozen=True)
class Cluster:
    """`threads_per_core`: how many of Slurm's CPUs (hardware threads) make one physical core.

    `left_out` are partitions with GPUs that the profile does not describe on purpose.
    """

    partitions: Mapping[Name, Partition]
    threads_per_core: Count = 1
    left_out: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Site:
    """`links` are documentation addresses by finding code, shown before the lesson's own.

    `emissions`, `costs` and `platforms`, the other places that the same work could run at, are empty where the site
    states none.
    """

    name: Label
    clusters: Mapping[Name, Cluster]
    links: Mapping[Name, Address] = field(default_factory=lambda: MappingProxyType({}))
    emissions: tuple[Emission, ...] = ()
    costs: tuple[Cost, ...] = ()
    platforms: tuple[Platform, ...] = ()


def bundled_site(name: str = "lumi") -> Site:
    """One of the profiles in `jobs/sites`.

    >>> bundled_site("example_a100").clusters["campus"].partitions["gpu"].node.cores_per_gpu
    16
    """
    return read_site(FOLDER / f"{name}.toml")


def read_site(path: Path) -> Site:
    """The profile in a file. Raises SiteProfileError."""
    try:
        return site_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SiteProfileError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SiteProfileError(f"{path}: is not TOML: {error}") from error
    except BadKeyError as error:
        raise SiteProfileError(f"{path}: {error}") from error


def site_of(profile: Mapping[str, Any]) -> Site:
    """The decoded profile: partitions name their node type and price, which are tables of their own.

    Raises BadKeyError.
    """
    _refuse_unknown(profile, ["name", "links", "nodes", "prices", "clusters", "emissions", "costs", "platforms"], "")
    nodes = {name: _typed(table, NodeType, key) for name, table, key in _tables(profile, "nodes")}
    prices = {name: _price(table, key) for name, table, key in _tables(profile, "prices")}
    clusters = {name: _cluster(table, key, nodes, prices) for name, table, key in _tables(profile, "clusters")}
    if not clusters:
        raise BadKeyError("clusters: at least one is required")
    links = _table(profile.get("links", {}), "links")
    return Site(
        name=_text(profile.get("name"), Label, "name"),
        clusters=MappingProxyType(clusters),
        links=MappingProxyType({code: _text(address, Address, f"links.{code}") for code, address in links.items()}),
        emissions=tuple(_factors(profile, "emissions", Emission)),
        costs=tuple(_factors(profile, "costs", Cost)),
        platforms=tuple(_platforms(profile, [name for known in clusters.values() for name in known.partitions])),
    )


def _platforms(profile: Mapping[str, Any], partitions: Sequence[str]) -> Iterator[Platform]:
    """Each other platform, whose name is its own. Raises BadKeyError."""
    names: list[str] = []
    for number, table in enumerate(_list(profile, "platforms")):
        key = f"platforms[{number}]"
        platform = _typed(table, Platform, key)
        wrong = problem_of(platform, partitions, names)
        if wrong is not None:
            raise BadKeyError(f"{key}.{wrong[0]}: {wrong[1]}")
        names.append(platform.name)
        yield platform


def _list(profile: Mapping[str, Any], name: str) -> list[Any]:
    tables = profile.get(name, [])
    if not isinstance(tables, list):
        raise BadKeyError(f"{name}: must be a list of tables, [[{name}]]")
    return tables


def _factors(profile: Mapping[str, Any], name: str, kind: type[F]) -> Iterator[F]:
    """Each factor of one kind; two that begin on the same day contradict each other. Raises BadKeyError."""
    begun = set()
    for number, table in enumerate(_list(profile, name)):
        key = f"{name}[{number}]"
        factor = _typed(table, kind, key)
        if factor.since.day != 1:
            raise BadKeyError(f"{key}.since: must be the first day of a month, because figures are of whole months")
        begins = factor.since, getattr(factor, "per", "")
        if begins in begun:
            raise BadKeyError(f"{key}.since: {factor.since} is in this list already")
        begun.add(begins)
        yield factor


def _cluster(table: Mapping[str, Any], key: str, nodes: Mapping[str, NodeType], prices: Mapping[str, Price]) -> Cluster:
    partitions = {
        name: _partition(entry, at, name, nodes, prices)
        for name, entry, at in _tables(table, "partitions", f"{key}.partitions")
    }
    for name, partition in partitions.items():
        smaller = partition.smaller_gpu.partition if partition.smaller_gpu else None
        named = {
            "shared_twin": partition.shared_twin,
            "exclusive_twin": partition.exclusive_twin,
            "smaller_gpu.partition": smaller,
        }
        for field_name, other in named.items():
            if other is not None and other not in partitions:
                raise BadKeyError(f"{key}.partitions.{name}.{field_name}: no partition {other!r} is described here")
    return replace(_typed({**table, "partitions": partitions}, Cluster, key), partitions=MappingProxyType(partitions))


def _partition(
    table: Mapping[str, Any], key: str, name: str, nodes: Mapping[str, NodeType], prices: Mapping[str, Price]
) -> Partition:
    values = {**table, "name": name}
    for field_name, kind, known in (("node", "node type", nodes), ("price", "price", prices)):
        if field_name not in table:
            continue
        named = _text(table[field_name], Name, f"{key}.{field_name}")
        if named not in known:
            raise BadKeyError(f"{key}.{field_name}: no {kind} {named!r} is described here")
        values[field_name] = known[named]
    if "smaller_gpu" in table:
        values["smaller_gpu"] = _typed(table["smaller_gpu"], SmallerGpu, f"{key}.smaller_gpu")
    partition = _typed(values, Partition, key)
    if partition.default_memory_gb is not None and partition.default_memory_per_core_gb is not None:
        raise BadKeyError(f"{key}.default_memory_per_core_gb: cannot be set together with default_memory_gb")
    return partition


def _price(table: Mapping[str, Any], key: str) -> Price:
    price = _typed(table, Price, key)
    if price.gpus_per_slice is price.cores_per_slice is price.memory_gb_per_slice is None:
        raise BadKeyError(f"{key}: needs gpus_per_slice, cores_per_slice or memory_gb_per_slice")
    return price


def _tables(parent: Mapping[str, Any], name: str, key: str = "") -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Name, content and key path of each table in the table `name` of `parent`."""
    key = key or name
    for child, content in _table(parent.get(name, {}), key).items():
        at = f"{key}.{_text(child, Name, f'{key}.{child}')}"
        yield child, _table(content, at), at


def _table(value: object, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadKeyError(f"{key}: must be a table")
    return value


def _typed(value: object, kind: type[T], key: str) -> T:
    """The table decoded as a dataclass, which may have no other keys than its fields. Raises BadKeyError."""
    table = _table(value, key)
    _refuse_unknown(table, [known.name for known in fields(kind)], f"{key}.")  # type: ignore[arg-type]
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise BadKeyError(_with_key(str(error), key)) from error


def _text(value: object, kind: Any, key: str) -> str:
    """The value decoded as one of the annotated kinds of text above. Raises BadKeyError."""
    if value is None:
        raise BadKeyError(f"{key}: is required")
    try:
        return str(msgspec.convert(value, kind))
    except msgspec.ValidationError as error:
        raise BadKeyError(_with_key(str(error), key)) from error


def _with_key(message: str, key: str) -> str:
    """msgspec's message behind the full key.

    >>> _with_key("Expected `int`, got `str` - at `$.gpus`", "nodes.a100")
    'nodes.a100.gpus: expected `int`, got `str`'
    """
    if missing := MISSING.fullmatch(message):
        return f"{key}.{missing[1]}: is required"
    message, _, within = message.partition(" - at ")
    inner = within.strip("`").removeprefix("$")
    return f"{key}{inner}: {message[:1].lower()}{message[1:]}"


def _refuse_unknown(table: Mapping[str, Any], known: Sequence[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            raise BadKeyError(f"{prefix}{key}: unknown key; known are {', '.join(known)}")
