"""Requests to a directory: Waldur over HTTPS, Slurm's `sacctmgr`, or files; `jobs.directory` reads the answers."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from jobs.directory import EXACT, Directory, DirectoryFormatError, from_csv, from_project_files, from_slurm, from_waldur
from jobs.http_client import Answer, CallFailed, HttpClient
from jobs.slurm_client import SlurmClientError, command_output

CALL_S = 30.0
"""One call of Waldur, from the connection to the last byte."""
WHOLE_S = 1500.0
"""All calls of one import together: less than the soft limit of its task."""
PAGE_SIZE = 200  # the most that Waldur gives at once
PAGES_MAX = 2000
# Two hundred rows are some hundred kilobytes; a resource may have additional attributes.
PAGE_BYTES_MAX = 16 * 2**20
# Hundreds of thousands of associations print within seconds; a database that hangs must not block the import forever.
SACCTMGR_TIMEOUT_S = 120.0


class DirectoryError(RuntimeError):
    """The directory cannot be reached or read; the message states which and why, and nothing was changed."""


def read_source(source: str, *, token: str, offering: str, cluster: str, now: datetime, case: str = EXACT) -> Directory:
    """The current data of `slurm`, of Waldur at an http(s) address, or of files at a path. Raises DirectoryError.

    `case` is how identifiers are compared, one of `jobs.directory.SUBJECT_CASES`.
    """
    try:
        if source == "slurm":
            return slurm(cluster)
        if source.startswith(("https://", "http://")):
            return waldur(source, token=token, offering=offering, now=now, case=case)
        return files(Path(source), case)
    except DirectoryFormatError as error:
        raise DirectoryError(f"{source}: {error}") from error


def files(path: Path, case: str = EXACT) -> Directory:
    """A CSV, one of LUMI's project files, or the folder with `project_N/project_N.json` of all of them."""
    try:
        if path.is_dir():
            found = sorted(path.glob("*/*.json")) or sorted(path.glob("*.json"))
            if not found:
                raise DirectoryError(f"{path}: contains no project files")
            return from_project_files({file.stem: _text(file) for file in found}, is_complete=True)
        if path.suffix == ".json":
            return from_project_files({path.stem: _text(path)}, is_complete=False)
        return from_csv(_text(path), case)
    except OSError as error:
        raise DirectoryError(f"{path}: {error.strerror}") from error


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


def slurm(cluster: str, sacctmgr: str = "sacctmgr") -> Directory:
    """The associations and coordinators of one cluster."""
    show = [sacctmgr, "--parsable2", "show"]
    try:
        associations = command_output(
            [*show, "associations", f"cluster={cluster}", "format=Cluster,Account,User"], SACCTMGR_TIMEOUT_S
        )
        accounts = command_output([*show, "account", "withcoord", "format=Account,Coordinators"], SACCTMGR_TIMEOUT_S)
    except SlurmClientError as error:
        raise DirectoryError(str(error)) from error
    return from_slurm(associations, accounts, cluster=cluster)


def waldur(
    url: str, *, token: str, offering: str, now: datetime, call_s: float = CALL_S, case: str = EXACT
) -> Directory:
    """The users and project teams of one Waldur offering (LUMI in Puhuri); a resource's `backend_id` is the project.

    Each call may take `call_s`. Raises DirectoryError.
    """
    if not token or not offering:
        raise DirectoryError("Waldur needs WALDUR_TOKEN (or WALDUR_TOKEN_FILE) and WALDUR_OFFERING")
    until_s = time.monotonic() + WHOLE_S
    headers = {"Authorization": f"Token {token}"}
    with HttpClient(seconds=call_s, bytes_max=PAGE_BYTES_MAX, headers=headers) as client:
        base = url.rstrip("/").removesuffix("/api") + "/api/"

        def rows(path: str, **query: str) -> list[dict[str, Any]]:
            return list(_pages(client, base + path, query, until_s))

        users = rows("marketplace-offering-users/", offering_uuid=offering)
        resources = {
            str(resource["backend_id"]): resource
            for resource in rows("marketplace-provider-resources/", offering_uuid=offering, state="OK")
            if resource.get("backend_id") and resource.get("project_uuid")
        }
        teams = {
            project: rows(f"projects/{resource['project_uuid']}/list_users/") for project, resource in resources.items()
        }
    return from_waldur(users, teams, resources, now=now, case=case)


def _pages(client: HttpClient, url: str, query: dict[str, str], until_s: float) -> Iterator[dict[str, Any]]:
    """Every row of a list, page after page as the Link header says; the token is never sent elsewhere."""
    parameters: dict[str, Any] | None = query | {"page_size": PAGE_SIZE}
    origin = urlsplit(url)[:2]
    for _ in range(PAGES_MAX):
        if time.monotonic() > until_s:
            raise DirectoryError(f"{url}: all calls together took more than {WHOLE_S:g} s")
        try:
            answer = client.answer(requests.Request("GET", url, params=parameters))
        except CallFailed as error:
            raise DirectoryError(f"{url}: {error}") from error
        if answer.status != requests.codes.ok:
            raise DirectoryError(f"{url}: answered with status {answer.status}")
        yield from _rows(answer)
        if not answer.following:
            return
        if urlsplit(answer.following)[:2] != origin:
            raise DirectoryError(f"{url}: its next page is on another host")
        url, parameters = answer.following, None
    raise DirectoryError(f"{url}: more than {PAGES_MAX} pages")


def _rows(answer: Answer) -> list[dict[str, Any]]:
    try:
        rows = answer.json()
    except (ValueError, RecursionError) as error:
        raise DirectoryError(f"{answer.url}: not JSON") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DirectoryError(f"{answer.url}: not a list of rows")
    return rows
