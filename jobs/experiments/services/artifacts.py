"""Writing the files of runs: paths on shared storage as scripts state them, and small text that clients upload."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Length

from jobs.experiments.limits import ARTIFACT_PATH_LENGTH_MAX, ARTIFACTS_MAX, TEXT_BYTES_MAX, TEXTS_BYTES_MAX
from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.points import STEP_MAX
from jobs.experiments.rules import NotAccepted, Problem
from jobs.experiments.services.locks import locked_run
from jobs.models import User

STATED = (Artifact.Kind.CHECKPOINT, Artifact.Kind.LOG, Artifact.Kind.FILE)
"""The kinds that a script may state of a path."""


@dataclass(frozen=True)
class StatedFile:
    """A file as a script states it."""

    path: str
    kind: str = Artifact.Kind.FILE
    step: int | None = None
    size_bytes: int | None = None


def state_files(user: User, run_id: str, files: Sequence[StatedFile], now: datetime) -> int:
    """Store the paths of files of an own run; the same path again replaces what was stated. Raises NotAccepted."""
    found = [problem for place, stated in enumerate(files) for problem in _problems(stated, f"[{place}].")]
    if found:
        raise NotAccepted(found)
    with transaction.atomic():
        run = locked_run(user, run_id)
        known = set(run.artifacts.values_list("path", flat=True))
        if len(known | {stated.path for stated in files}) > ARTIFACTS_MAX:
            raise NotAccepted([("", f"a run has at most {ARTIFACTS_MAX} files")])
        for stated in files:
            columns = {"kind": stated.kind, "step": stated.step, "size_bytes": stated.size_bytes}
            _store(run, stated.path, now, **columns, text=None)
        _hear(run, now)
    return len(files)


def keep_upload(user: User, run_id: str, path: str, content: bytes | None, size_bytes: int, now: datetime) -> bool:
    """Keep an uploaded file if it is small text and the run has room; else only that it came. Whether it was kept.

    `content` is None where it was too large to be read. Raises NotAccepted.
    """
    if problems := _problems(StatedFile(path), ""):
        raise NotAccepted(problems)
    with transaction.atomic():
        run = locked_run(user, run_id)
        others = run.artifacts.exclude(path=path)
        is_kept = content is not None and _is_text(content) and _has_room(others, len(content))
        if others.count() < ARTIFACTS_MAX:
            kind = Artifact.Kind.KEPT if is_kept else Artifact.Kind.DISCARDED
            _store(run, path, now, kind=kind, size_bytes=size_bytes, text=content if is_kept else None, step=None)
        _hear(run, now)
    return is_kept


def _store(run: ExperimentRun, path: str, now: datetime, **columns: object) -> None:
    Artifact.objects.update_or_create(run=run, path=path, defaults={**columns, "stated_at": now})


def _hear(run: ExperimentRun, now: datetime) -> None:
    run.heard_at = now
    run.save(update_fields=["heard_at"])


def _has_room(others: QuerySet[Artifact], size_bytes: int) -> bool:
    if size_bytes > TEXT_BYTES_MAX:
        return False
    taken = others.aggregate(taken=Sum(Length("text")))["taken"] or 0
    return bool(taken + size_bytes <= TEXTS_BYTES_MAX)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _problems(stated: StatedFile, path: str) -> list[Problem]:
    found = []
    if not stated.path.strip() or len(stated.path) > ARTIFACT_PATH_LENGTH_MAX:
        found.append((f"{path}path", f"must have 1 to {ARTIFACT_PATH_LENGTH_MAX:,} characters"))
    if stated.kind not in STATED:
        found.append((f"{path}kind", f"must be one of {', '.join(STATED)}"))
    if stated.step is not None and abs(stated.step) > STEP_MAX:
        found.append((f"{path}step", "must be a whole number of at most 2^53"))
    if stated.size_bytes is not None and not 0 <= stated.size_bytes < 2**63:
        found.append((f"{path}size_bytes", "must be a whole number of bytes"))
    return found
