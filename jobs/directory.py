"""Who belongs to which project, read from what a directory says; pure, and one bad row rejects itself only.

No claim of a sign-in carries the LUMI account or the projects, so they come from a directory: Waldur (Puhuri), LUMI's
project files, Slurm's associations, or a CSV. Identities are Community User Identifiers, compared without regard to
case (MyAccessID, "Attributes available to Relying Parties").
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}")
SUBJECT = re.compile(r"[\x21-\x7e]{1,255}")
PROJECT_ROLES = ("member", "manager", "pi")  # the later outranks the earlier
PORTAL_ROLES = ("support", "policy", "administrator")
# Waldur's names of project roles; its own site agent takes the manager for the principal investigator.
WALDUR_ROLES = {"PROJECT.MANAGER": "pi", "PROJECT.ADMIN": "manager", "PROJECT.MEMBER": "member"}
# The account and the user that every Slurm database begins with: sacctmgr(1).
SLURM_BUILT_IN = "root"


class DirectoryFormatError(ValueError):
    """What came is not what this directory writes; nothing of it can be trusted."""


@dataclass(frozen=True)
class Directory:
    """What one source says: `roles[project][account]`, `subjects[account]`, `emails[account]`, portal `grants`.

    `is_complete` means that a project it does not name has no members from this source. `links_identities` and
    `grants_roles` say whether it speaks of those at all. `skipped` names the rows that were left out, and why.
    """

    source: str
    roles: Mapping[str, Mapping[str, str]]
    subjects: Mapping[str, str] = field(default_factory=dict)
    emails: Mapping[str, str] = field(default_factory=dict)
    grants: frozenset[tuple[str, str]] = frozenset()
    is_complete: bool = True
    links_identities: bool = False
    grants_roles: bool = False
    skipped: tuple[str, ...] = ()


def subject_of(text: object) -> str | None:
    """An identifier as it is stored and compared, or None when it is none.

    >>> subject_of(" ABC@MyAccessID.org ")
    'abc@myaccessid.org'
    """
    cleaned = text.strip().lower() if isinstance(text, str) else ""
    return cleaned if SUBJECT.fullmatch(cleaned) else None


def outranking(*roles: str) -> str:
    """The highest of some project roles.

    >>> outranking("member", "pi", "manager")
    'pi'
    """
    return max(roles, key=PROJECT_ROLES.index)


def from_csv(text: str) -> Directory:
    """Columns `username,project,role,subject,email`, the last three optional; the file is the whole list.

    A row without a project gives a portal role (support, policy, administrator) or only links an identity.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    columns = set(reader.fieldnames or ())
    if not {"username", "project"} <= columns:
        raise DirectoryFormatError("the first line must name the columns: username,project,role,subject,email")
    roles: dict[str, dict[str, str]] = {}
    links: list[tuple[str, str]] = []
    emails: dict[str, str] = {}
    grants: set[tuple[str, str]] = set()
    skipped: list[str] = []
    for row in reader:
        cells = {name: (row.get(name) or "").strip() for name in ("username", "project", "role", "subject", "email")}
        problem = _csv_problem(cells)
        if problem:
            skipped.append(f"line {reader.line_num}: {problem}")
            continue
        user, project, role = cells["username"], cells["project"], cells["role"].lower()
        if project:
            _add(roles, project, user, role or "member")
        elif role:
            grants.add((user, role))
        if cells["subject"]:
            links.append((user, cells["subject"].lower()))
        if cells["email"]:
            emails[user] = cells["email"]
    subjects, doubtful = one_to_one(links)
    return Directory(
        source="csv",
        roles=roles,
        subjects=subjects,
        emails=emails,
        grants=frozenset(grants),
        links_identities="subject" in columns,
        grants_roles="role" in columns,
        skipped=(*skipped, *doubtful),
    )


def _csv_problem(cells: Mapping[str, str]) -> str:
    allowed = PROJECT_ROLES if cells["project"] else PORTAL_ROLES
    if not NAME.fullmatch(cells["username"]):
        return f"{cells['username']!r} is no account name"
    if cells["project"] and not NAME.fullmatch(cells["project"]):
        return f"{cells['project']!r} is no project name"
    if cells["role"] and cells["role"].lower() not in allowed:
        return f"role {cells['role']!r} is none of {', '.join(allowed)}"
    if cells["subject"] and subject_of(cells["subject"]) is None:
        return f"{cells['subject']!r} is no identifier"
    return ""


def from_project_files(files: Mapping[str, str], *, is_complete: bool) -> Directory:
    """LUMI's `project_N.json` by project name: `members.<account>.active`; they name no PI.

    >>> from_project_files({"p": '{"members": {"alice": {"active": true}, "bob": {"active": false}}}'},
    ...                    is_complete=False).roles
    {'p': {'alice': 'member'}}
    """
    roles: dict[str, dict[str, str]] = {}
    skipped: list[str] = []
    for project, text in sorted(files.items()):
        try:
            members = json.loads(text)["members"]
            active = [user for user, about in members.items() if about["active"] is True]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DirectoryFormatError(f"{project}: no project file with members and their `active`") from None
        if not NAME.fullmatch(project):
            skipped.append(f"{project!r} is no project name")
            continue
        roles[project] = {}
        for user in active:
            if NAME.fullmatch(user):
                _add(roles, project, user, "member")
            else:
                skipped.append(f"{project}: {user!r} is no account name")
    return Directory(source="lumi", roles=roles, is_complete=is_complete, skipped=tuple(skipped))


def from_slurm(associations: str, accounts: str, *, cluster: str) -> Directory:
    """`sacctmgr --parsable2 show associations format=Cluster,Account,User` and `… account withcoord`.

    A coordinator counts as the PI: Slurm too lets a coordinator see the account's jobs (slurm.conf, PrivateData).
    """
    roles: dict[str, dict[str, str]] = {}
    skipped: list[str] = []
    for row in _table(associations, ("Cluster", "Account", "User")):
        if row["Cluster"] != cluster or row["Account"] == SLURM_BUILT_IN:
            continue
        if not NAME.fullmatch(row["Account"]) or (row["User"] and not NAME.fullmatch(row["User"])):
            skipped.append(f"{row['Account']}: {row['User']!r} is no account name")
            continue
        roles.setdefault(row["Account"], {})
        if row["User"] and row["User"] != SLURM_BUILT_IN:
            _add(roles, row["Account"], row["User"], "member")
    for row in _table(accounts, ("Account", "Coordinators")):
        for user in filter(None, row["Coordinators"].split(",")):
            if row["Account"] in roles and NAME.fullmatch(user) and user != SLURM_BUILT_IN:
                _add(roles, row["Account"], user, "pi")
    return Directory(source="slurm", roles=roles, skipped=tuple(skipped))


def _table(text: str, columns: tuple[str, ...]) -> Iterable[dict[str, str]]:
    header, *lines = text.splitlines() or [""]
    names = ["Coordinators" if name.startswith("Coord") else name for name in header.split("|")]
    if not set(columns) <= set(names):
        raise DirectoryFormatError(f"sacctmgr's table has no columns {', '.join(columns)}")
    for line in filter(None, lines):
        cells = line.split("|")
        if len(cells) != len(names):
            raise DirectoryFormatError(f"sacctmgr's table has a row of another length: {line[:200]!r}")
        yield dict(zip(names, cells, strict=True))


def from_waldur(
    offering_users: Iterable[Mapping[str, Any]],
    teams: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    now: datetime,
) -> Directory:
    """Waldur's offering users, and for each project its `list_users`; a role that expired is none.

    Of an offering user `user_username` is the identifier and `username` the account on LUMI; it counts while its
    state is OK and it is not restricted. A member without an account there yet is left out until it has one.
    """
    links, skipped = [], []
    for row in offering_users:
        subject, user = subject_of(row.get("user_username")), row.get("username") or ""
        if not user or row.get("is_restricted") or row.get("state", "OK") != "OK":
            continue
        if subject is None or not isinstance(user, str) or not NAME.fullmatch(user):
            skipped.append(f"offering user {user!r}: no account name, or no identifier")
            continue
        links.append((user, subject))
    subjects, doubtful = one_to_one(links)
    account_of = {subject: user for user, subject in subjects.items()}
    roles: dict[str, dict[str, str]] = {}
    for project, team in teams.items():
        if not NAME.fullmatch(project):
            skipped.append(f"{project!r} is no project name")
            continue
        roles.setdefault(project, {})
        for row in team:
            member = account_of.get(subject_of(row.get("user_username")) or "")
            role = WALDUR_ROLES.get(str(row.get("role_name")))
            if member and role and not _has_passed(row.get("expiration_time"), now):
                _add(roles, project, member, role)
    return Directory(
        source="waldur", roles=roles, subjects=subjects, links_identities=True, skipped=(*skipped, *doubtful)
    )


def _has_passed(text: object, now: datetime) -> bool:
    if not text:
        return False
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise DirectoryFormatError(f"{str(text)[:40]!r} is no time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)) <= now


def one_to_one(links: Iterable[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Accounts and identities that belong to each other and to nobody else; what is doubtful links nobody.

    >>> one_to_one([("alice", "a"), ("alice", "a"), ("bob", "b"), ("bob2", "b")])
    ({'alice': 'a'}, ('bob: linked to more than one', 'bob2: linked to more than one'))
    """
    pairs = sorted(set(links))
    users, subjects = Counter(user for user, _ in pairs), Counter(subject for _, subject in pairs)
    sure = {user: subject for user, subject in pairs if users[user] == subjects[subject] == 1}
    return sure, tuple(f"{user}: linked to more than one" for user in sorted(users) if user not in sure)


def _add(roles: dict[str, dict[str, str]], project: str, user: str, role: str) -> None:
    members = roles.setdefault(project, {})
    members[user] = outranking(role, members.get(user, role))
