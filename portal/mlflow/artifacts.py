"""Files that MLflow's clients upload: small text is kept, of anything else only that it came; a script goes on.

Their addresses are `<experiment>/<run_id>/artifacts/<path>`, as `shown.artifact_uri` states them.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import unquote

from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.selectors import artifacts_of
from jobs.experiments.services.artifacts import keep_upload
from portal.mlflow.answers import BYTES, Code, Refused, done, invalid
from portal.mlflow.call import Call, checked_id
from portal.mlflow.shown import artifact_uri
from portal.mlflow.wire import ListArtifacts
from portal.tracking.call import Answer

NOT_KEPT = "This file was uploaded and not kept: only text of limited size is."
NO_SUCH_FILE = "There is no such file of this run; only text of limited size is kept."
ADDRESS = re.compile(r"/?[0-9]{1,18}/(?P<run_id>[^/]+)/artifacts(?:/(?P<path>.*))?", re.DOTALL)

NO_PARTS = "Multipart upload is not supported for the current artifact repository"
"""With exactly this begin of the message a client uploads the file as a whole (`mlflow/exceptions.py`)."""


class Place(NamedTuple):
    """A file of a run, or with an empty path all of them."""

    run_id: str
    path: str


def place_of(address: str) -> Place:
    """The run and path of an address below `mlflow-artifacts/artifacts`. Raises Refused.

    >>> place_of("7/0123456789abcdef0123456789abcdef/artifacts/plots/loss.json").path
    'plots/loss.json'
    """
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise Refused(Code.RESOURCE_DOES_NOT_EXIST, NO_SUCH_FILE)
    return Place(found["run_id"], checked_path(found["path"] or ""))


def checked_path(path: str) -> str:
    """The path, if it stays within its run on every system that may download it. Raises Refused.

    >>> [checked_path(path) for path in ("a/b.txt", "plots/", "")]
    ['a/b.txt', 'plots', '']
    """
    path = path.rstrip("/")
    for read in (path, unquote(path), unquote(unquote(path))):
        steps = re.split(r"[/\\]", read)
        if read and (not {"", ".", ".."}.isdisjoint(steps) or re.match("[A-Za-z]:", read)):
            raise invalid("The path of a file must be relative, without '..'.")
    return path


def keep(call: Call, address: str, content: bytes | None, size_bytes: int) -> Answer:
    """An uploaded file; `content` is None where it is too large. Raises Refused and NotAccepted."""
    place = place_of(address)
    keep_upload(call.user, checked_id(place.run_id), place.path, content, size_bytes, call.now)
    return done()


def download(call: Call, address: str) -> Answer:
    """The kept text of a file. Raises Refused and NotAccepted."""
    place = place_of(address)
    found = Artifact.objects.filter(run=call.seen_run(place.run_id), path=place.path).first()
    if found is None or found.text is None:
        raise Refused(Code.RESOURCE_DOES_NOT_EXIST, NO_SUCH_FILE if found is None else NOT_KEPT)
    return Answer(HTTPStatus.OK, bytes(found.text), BYTES)


def list_folder(call: Call, address: str) -> Answer:
    """The kept files in a folder, by their names in it, as `mlflow-artifacts` lists them; none above a run."""
    if not ADDRESS.fullmatch(address):
        return done({"files": []})
    place = place_of(address)
    return done({"files": _listed(call.seen_run(place.run_id), place.path, is_whole_path=False)})


def list_artifacts(call: Call) -> dict[str, Any]:
    """The kept files in a folder, by their whole paths, as the tracking server lists them."""
    sent = call.read(ListArtifacts)
    run = call.seen_run(sent.run)
    return {
        "root_uri": artifact_uri(run),
        "files": _listed(run, checked_path(sent.path or ""), is_whole_path=True),
    }


def _listed(run: ExperimentRun, folder: str, *, is_whole_path: bool) -> list[dict[str, Any]]:
    kept = artifacts_of(run).filter(kind=Artifact.Kind.KEPT).values_list("path", "size_bytes")
    entries = _entries(kept, f"{folder}/" if folder else "")
    begin = f"{folder}/" if folder and is_whole_path else ""
    return [{"path": begin + name, **members} for name, members in sorted(entries.items())]


def _entries(files: Iterable[tuple[str, int | None]], begin: str) -> dict[str, dict[str, Any]]:
    """The files and folders directly in a folder, whose path with its slash is `begin`.

    >>> _entries([("a.txt", 3), ("plots/b.txt", 5)], "")
    {'a.txt': {'is_dir': False, 'file_size': 3}, 'plots': {'is_dir': True}}
    """
    entries: dict[str, dict[str, Any]] = {}
    for path, size_bytes in files:
        name, is_deeper, _ = path.removeprefix(begin).partition("/")
        if path.startswith(begin) and not is_deeper:
            entries[name] = {"is_dir": False, "file_size": size_bytes}
        elif path.startswith(begin):
            entries.setdefault(name, {"is_dir": True})
    return entries
