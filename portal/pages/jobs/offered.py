"""What one person may choose from on the Jobs page: only what their own reach holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.hardware import clusters
from jobs.models import User
from jobs.selectors import Reach, jobs_within, latest_partitions, led_owners, reach_of, reached_projects
from jobs.work_key import KEY_LENGTH


@dataclass(frozen=True)
class Offered:
    """Projects and owners by name with their keys, and partitions; owners only for whoever leads a project.

    `works` are (key, name) of the one in the address, where a visible job is of it.
    """

    reach: Reach
    projects: dict[str, int]
    owners: dict[str, int]
    partitions: tuple[str, ...]
    works: tuple[tuple[str, str], ...]


def offered_to(user: User, address: Mapping[str, str]) -> Offered:
    """What this person may choose; of what stands in the address also what no longer comes up by itself."""
    reach = reach_of(user)
    return Offered(
        reach=reach,
        projects=dict(reached_projects(reach).values_list("name", "pk")),
        owners=_owners(reach, _name(address, "owner")),
        partitions=_partitions(reach, _name(address, "partition")),
        works=_works(reach, _name(address, "work")),
    )


def _name(address: Mapping[str, str], name: str) -> str:
    """What stands in the address, if a row can have such a name."""
    asked = address.get(name, "")
    return asked if asked.isprintable() else ""


def _owners(reach: Reach, asked: str) -> dict[str, int]:
    """The members of led projects; another person in the address, if a visible job is theirs."""
    if not reach.led:
        return {}
    owners = dict(led_owners(reach).values_list("username", "pk"))
    if asked and asked not in owners:
        owner = User.objects.filter(username=asked).first()
        if owner and jobs_within(reach).filter(user=owner).exists():
            owners[asked] = owner.pk
    return dict(sorted(owners.items()))


def _partitions(reach: Reach, asked: str) -> tuple[str, ...]:
    """Those of the latest runs and of their clusters; another one in the address, if a visible job ran there."""
    latest, described = latest_partitions(reach), clusters()
    known = {name for cluster, _ in latest if cluster in described for name in described[cluster].partitions}
    names = known | {name for _, name in latest if name}
    if asked and asked not in names and jobs_within(reach).filter(partition=asked).exists():
        names.add(asked)
    return tuple(sorted(names))


def _works(reach: Reach, asked: str) -> tuple[tuple[str, str], ...]:
    """The work of this key, named after the latest visible job of it."""
    if not asked or len(asked) > KEY_LENGTH:
        return ()
    latest = jobs_within(reach).filter(work_key=asked).order_by("-ended_at", "-pk").first()
    return ((asked, latest.job_name or f"Job {latest.job_id}"),) if latest else ()
