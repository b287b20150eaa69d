"""Writing experiments: each belongs to one person, who decides which project sees it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from jobs.experiments.limits import EXPERIMENTS_MAX
from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.rules import NameTaken, NotAccepted, experiment_name, shown_name, with_tags
from jobs.experiments.services.locks import all_locked, locked_experiment
from jobs.models import Project, User
from jobs.selectors import own_projects


def make_experiment(
    owner: User,
    name: str,
    now: datetime,
    *,
    project: str = "",
    is_shared: bool = False,
    tags: Mapping[str, str] | None = None,
) -> Experiment:
    """A new experiment. Raises NotAccepted, and NameTaken where this person has one of that name."""
    name = experiment_name(name)
    of_project = _project(owner, project)
    _check_sharing(of_project, is_shared=is_shared)
    columns: dict[str, Any] = {"project": of_project, "is_shared": is_shared, "tags": with_tags({}, tags or {})}
    if owner.experiments.count() >= EXPERIMENTS_MAX:
        raise NotAccepted([("", f"a person has at most {EXPERIMENTS_MAX:,} experiments; delete some first")])
    try:
        with transaction.atomic():
            return Experiment.objects.create(owner=owner, name=name, created_at=now, changed_at=now, **columns)
    except IntegrityError:
        raise NameTaken from None


def named_experiment(owner: User, name: str, now: datetime) -> tuple[Experiment, bool]:
    """The experiment of this name, and whether it was made now. Raises NotAccepted."""
    known = Experiment.objects.filter(owner=owner, name=shown_name(name)).first()
    if known is not None:
        return known, False
    try:
        return make_experiment(owner, name, now), True
    except NameTaken:
        return Experiment.objects.get(owner=owner, name=shown_name(name)), False


def change_experiment(
    user: User,
    pk: int,
    now: datetime,
    *,
    name: str | None = None,
    project: str | None = None,
    is_shared: bool | None = None,
    tags: Mapping[str, str] | None = None,
) -> Experiment:
    """Change what is given; an empty `project` makes it private. Raises NotAccepted."""
    with transaction.atomic():
        experiment = locked_experiment(user, pk)
        if name is not None:
            experiment.name = experiment_name(name)
        if project is not None:
            experiment.project = _project(user, project)
            experiment.is_shared = experiment.is_shared and experiment.project is not None
        if is_shared is not None:
            experiment.is_shared = is_shared
        _check_sharing(experiment.project, is_shared=experiment.is_shared)
        if tags is not None:
            experiment.tags = with_tags(experiment.tags, tags)
        experiment.changed_at = now
        try:
            with transaction.atomic():
                experiment.save()
        except IntegrityError:
            raise NameTaken from None
    return experiment


def delete_experiment(user: User, pk: int) -> None:
    """Delete an experiment with its runs and everything that they logged. Raises NoSuchExperiment."""
    with transaction.atomic():
        experiment = locked_experiment(user, pk)
        all_locked(ExperimentRun.objects.filter(experiment=experiment))
        experiment.delete()


def _project(owner: User, name: str) -> Project | None:
    """A project of this person by its name, none for an empty one. Raises NotAccepted."""
    if not name:
        return None
    project = own_projects(owner).filter(name=name).first()
    if project is None:
        raise NotAccepted([("project", "you are not a member of such a project")])
    return project


def _check_sharing(project: Project | None, *, is_shared: bool) -> None:
    if is_shared and project is None:
        raise NotAccepted([("is_shared", "only an experiment of a project can be shared with its members")])
