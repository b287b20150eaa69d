"""Reading imported directory data: by source, by import, and what no directory covers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, QuerySet

from jobs.models import DirectoryImport, Grant, Job, ListedMembership, Project, User
from jobs.selectors import BY_SITE


@dataclass(frozen=True)
class SourceState:
    """The current data of one source, in numbers of rows."""

    name: str
    memberships: int = 0
    projects: int = 0
    identities: int = 0
    roles: int = 0


def directory_sources() -> list[SourceState]:
    """Every source of memberships, identities or roles, by name."""
    counts: dict[str, dict[str, int]] = {}
    listed = ListedMembership.objects.values("source").annotate(
        memberships=Count("pk"), projects=Count("project", distinct=True)
    )
    linked = User.objects.exclude(linked_by="").values(source=F("linked_by")).annotate(identities=Count("pk"))
    granted = Grant.objects.values("source").annotate(roles=Count("pk"))
    rows: tuple[Any, ...] = (*listed, *linked, *granted)
    for row in rows:
        counts.setdefault(row.pop("source"), {}).update(row)
    return [SourceState(name, **said) for name, said in sorted(counts.items())]


def directory_imports() -> QuerySet[DirectoryImport]:
    """The results of imports from directories, the latest first."""
    return DirectoryImport.objects.order_by("-began_at", "-pk")


def last_imports(since: datetime) -> dict[str, datetime]:
    """When each directory was last stored, of those that were read since then."""
    stored = DirectoryImport.objects.filter(began_at__gte=since, error="").exclude(source="")
    return dict(stored.values_list("source").annotate(at=Max("began_at")).order_by("source"))


def unlinked_accounts() -> QuerySet[User]:
    """The open accounts that no identity may sign in as, by name."""
    return User.objects.filter(is_active=True, oidc_subject=None).order_by("username")


def unlisted_projects() -> QuerySet[Project]:
    """The projects that have jobs by the site's records and that no directory has listed, by name."""
    has_jobs = Exists(Job.objects.filter(BY_SITE, project=OuterRef("pk")))
    return Project.objects.filter(has_jobs, is_listed=False).order_by("name")
