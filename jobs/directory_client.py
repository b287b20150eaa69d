"""Asking a directory: Waldur over HTTPS, Slurm's `sacctmgr`, or files; what they say is read by `jobs.directory`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from jobs.directory import Directory, DirectoryFormatError, from_csv, from_project_files, from_slurm, from_waldur
from jobs.slurm_client import SlurmClientError, command_output

TIMEOUT_S = 30.0
PAGE_SIZE = 200  # the most that Waldur gives at once
PAGES_MAX = 2000
# Hundreds of thousands of associations print within seconds; a hanging database must not hold the import for ever.
SACCTMGR_TIMEOUT_S = 120.0


class DirectoryError(RuntimeError):
    """The directory cannot be reached or read; the message says which and why, and nothing was changed."""


def read_source(source: str, *, token: str, offering: str, cluster: str, now: datetime) -> Directory:
    """What `slurm`, an http(s) address of Waldur, or a path names says now. Raises DirectoryError."""
    try:
        if source == "slurm":
            return slurm(cluster)
        if source.startswith(("https://", "http://")):
            return waldur(source, token=token, offering=offering, now=now)
        return files(Path(source))
    except DirectoryFormatError as error:
        raise DirectoryError(f"{source}: {error}") from error


def files(path: Path) -> Directory:
    """A CSV, one of LUMI's project files, or the folder that has `project_N/project_N.json` of all of them."""
    try:
        if path.is_dir():
            found = sorted(path.glob("*/*.json")) or sorted(path.glob("*.json"))
            if not found:
                raise DirectoryError(f"{path}: no project files in it")
            return from_project_files({file.stem: _text(file) for file in found}, is_complete=True)
        if path.suffix == ".json":
            return from_project_files({path.stem: _text(path)}, is_complete=False)
        return from_csv(_text(path))
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


def waldur(url: str, *, token: str, offering: str, now: datetime, timeout_s: float = TIMEOUT_S) -> Directory:
    """The users and project teams of one Waldur offering (LUMI in Puhuri); a resource's `backend_id` is the project."""
    if not token or not offering:
        raise DirectoryError("Waldur needs WALDUR_TOKEN (or WALDUR_TOKEN_FILE) and WALDUR_OFFERING")
    with requests.Session() as session:
        session.headers["Authorization"] = f"Token {token}"
        base = url.rstrip("/").removesuffix("/api") + "/api/"

        def rows(path: str, **query: str) -> list[dict[str, Any]]:
            return list(_pages(session, base + path, query, timeout_s))

        users = rows("marketplace-offering-users/", offering_uuid=offering)
        resources = {
            str(resource["backend_id"]): resource
            for resource in rows("marketplace-provider-resources/", offering_uuid=offering, state="OK")
            if resource.get("backend_id") and resource.get("project_uuid")
        }
        teams = {
            project: rows(f"projects/{resource['project_uuid']}/list_users/") for project, resource in resources.items()
        }
    return from_waldur(users, teams, resources, now=now)


def _pages(session: requests.Session, url: str, query: dict[str, str], timeout_s: float) -> Iterator[dict[str, Any]]:
    """Every row of a list, page after page as the Link header says; the token is never sent elsewhere."""
    parameters: dict[str, Any] | None = query | {"page_size": PAGE_SIZE}
    origin = urlsplit(url)[:2]
    for _ in range(PAGES_MAX):
        try:
            answer = session.get(url, params=parameters, timeout=timeout_s, allow_redirects=False)
        except requests.RequestException as error:
            raise DirectoryError(f"{url}: no answer ({type(error).__name__})") from error
        if answer.status_code != requests.codes.ok:
            raise DirectoryError(f"{url}: answered with status {answer.status_code}")
        yield from _rows(answer)
        following = answer.links.get("next", {}).get("url")
        if not following:
            return
        if urlsplit(following)[:2] != origin:
            raise DirectoryError(f"{url}: its next page is on another host")
        url, parameters = following, None
    raise DirectoryError(f"{url}: more than {PAGES_MAX} pages")


def _rows(answer: requests.Response) -> list[dict[str, Any]]:
    try:
        rows = answer.json()
    except (json.JSONDecodeError, RecursionError, requests.RequestException) as error:
        raise DirectoryError(f"{answer.url}: no JSON") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DirectoryError(f"{answer.url}: no list of rows")
    return rows
