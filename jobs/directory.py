"""Who belongs to which project, read from the data of a directory; pure. A bad row is left out, the others are used.

No claim of a sign-in carries the LUMI account or the projects, so they come from a directory: Waldur (Puhuri), LUMI's
project files, Slurm's associations, or a CSV. Identities are subjects of an OpenID provider, compared
unchanged unless the site chose to ignore their case.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.allocations import AllocatedHours, AllocationFormatError, of_csv_cells, of_project_file, of_waldur_resource
from wire.names import SLUG
from wire.safe_text import printable

NAME = re.compile(SLUG)
EMAIL = re.compile(r"[^\x00-\x20\x7f]{1,254}")
# OpenID Connect Core 1.0, section 2: `sub` has at most 255 ASCII characters and is case sensitive.
SUBJECT = re.compile(r"[\x21-\x7e]{1,255}")
# MyAccessID alone compares its Community User Identifiers without regard to case ("Attributes available to Relying
# Parties"); for such a provider a site stores and compares them in lower case.
EXACT, LOWER = "exact", "lower"
SUBJECT_CASES = (EXACT, LOWER)
PROJECT_ROLES = ("member", "manager", "pi")  # a later role ranks above an earlier one
PORTAL_ROLES = ("support", "policy", "administrator")
CSV_OF_PEOPLE = ("username", "project", "role", "subject", "email")
CSV_OF_HOURS = ("gpu_hours", "used_gpu_hours", "begins_on", "ends_on")
SCIENCE_FIELD, SCIENCE_FIELD_LENGTH_MAX = "science_field", 64
# Waldur's names of project roles; its own site agent takes the manager for the principal investigator.
WALDUR_ROLES = {"PROJECT.MANAGER": "pi", "PROJECT.ADMIN": "manager", "PROJECT.MEMBER": "member"}
# The account and the user that every Slurm database begins with: sacctmgr(1).
SLURM_BUILT_IN = "root"


class DirectoryFormatError(ValueError):
    """The data is not in the form that this directory writes; none of it is used."""


@dataclass(frozen=True)
class Directory:
    """The data of one source: `roles[project][account]`, `subjects[account]`, `emails[account]`, portal `grants`.

    `allocations[project]` are its GPU-hours, `science_fields[project]` its field. `is_complete` means that a project it
    does not name has no members and no hours from this source. `links_identities`, `grants_roles`, `tells_hours` and
    `tells_fields` state whether it holds such data at all. `skipped` names the rows that were left out, and why.
    """

    source: str
    roles: Mapping[str, Mapping[str, str]]
    subjects: Mapping[str, str] = field(default_factory=dict)
    emails: Mapping[str, str] = field(default_factory=dict)
    grants: frozenset[tuple[str, str]] = frozenset()
    allocations: Mapping[str, AllocatedHours] = field(default_factory=dict)
    science_fields: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True
    links_identities: bool = False
    grants_roles: bool = False
    tells_hours: bool = False
    tells_fields: bool = False
    skipped: tuple[str, ...] = ()


def subject_of(text: object, case: str = EXACT) -> str | None:
    """An identifier as it is stored and compared, or None when it is not valid; `case` is one of SUBJECT_CASES.

    White space and non-ASCII characters make it invalid; nothing is removed or replaced first.

    >>> subject_of("ABC@MyAccessID.org"), subject_of("ABC@MyAccessID.org", LOWER), subject_of(" ABC@MyAccessID.org")
    ('ABC@MyAccessID.org', 'abc@myaccessid.org', None)
    """
    if not isinstance(text, str) or not SUBJECT.fullmatch(text):
        return None
    return text.lower() if case == LOWER else text


def science_field_of(value: object) -> str:
    """A field of science as it is stored and shown: one line of at most 64 characters; empty where there is none.

    >>> science_field_of(" Earth  sciences "), science_field_of("a\\u202eb"), len(science_field_of("x" * 900))
    ('Earth sciences', 'a�b', 64)
    >>> science_field_of(None), science_field_of({"name": "Physics"})
    ('', '')
    """
    if not isinstance(value, str):
        return ""
    return printable(" ".join(value.split()))[:SCIENCE_FIELD_LENGTH_MAX].rstrip()


def outranking(*roles: str) -> str:
    """The highest of some project roles.

    >>> outranking("member", "pi", "manager")
    'pi'
    """
    return max(roles, key=PROJECT_ROLES.index)


def from_csv(text: str, case: str = EXACT) -> Directory:
    """Columns `username,project,role,subject,email`, the last three optional; the file is the whole list.

    `case` is how identifiers are compared, one of SUBJECT_CASES.

    A row without a project gives a portal role (support, policy, administrator) or only links an identity. A row
    without a username gives a project its hours, `gpu_hours`, and if known `used_gpu_hours,begins_on,ends_on`; or its
    `science_field`; or both.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    columns = set(reader.fieldnames or ())
    if not {"username", "project"} <= columns:
        raise DirectoryFormatError("the first line must name the columns: username,project,role,subject,email")
    found = _CsvRows(case)
    for row in reader:
        cells = {name: (row.get(name) or "").strip() for name in (*CSV_OF_PEOPLE, *CSV_OF_HOURS, SCIENCE_FIELD)}
        # An identifier is not stripped: one with a blank in it is refused.
        cells["subject"] = (row.get("subject") or "") if cells["subject"] else ""
        problem = _csv_problem(cells) or found.take(cells)
        if problem:
            found.skipped.append(f"line {reader.line_num}: {problem}")
    subjects, doubtful = one_to_one(found.links)
    return Directory(
        source="csv",
        roles=found.roles,
        subjects=subjects,
        emails=found.emails,
        grants=frozenset(found.grants),
        allocations=found.allocations,
        science_fields=found.science_fields,
        links_identities="subject" in columns,
        grants_roles="role" in columns,
        tells_hours="gpu_hours" in columns,
        tells_fields=SCIENCE_FIELD in columns,
        skipped=(*found.skipped, *doubtful),
    )


@dataclass
class _CsvRows:
    """The combined data of the rows of a CSV."""

    case: str
    roles: dict[str, dict[str, str]] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    emails: dict[str, str] = field(default_factory=dict)
    grants: set[tuple[str, str]] = field(default_factory=set)
    allocations: dict[str, AllocatedHours] = field(default_factory=dict)
    science_fields: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def take(self, cells: Mapping[str, str]) -> str:
        """Add one valid row; returns the problem with its hours, if any."""
        user, project, role = cells["username"], cells["project"], cells["role"].lower()
        if not user:
            return self._take_project(project, cells)
        if project:
            _add(self.roles, project, user, role or "member")
        elif role:
            self.grants.add((user, role))
        if subject := subject_of(cells["subject"], self.case):
            self.links.append((user, subject))
        if cells["email"]:
            self.emails[user] = cells["email"]
        return ""

    def _take_project(self, project: str, cells: Mapping[str, str]) -> str:
        if science_field := science_field_of(cells[SCIENCE_FIELD]):
            self.science_fields[project] = science_field
        if cells["gpu_hours"]:
            try:
                self.allocations[project] = of_csv_cells(cells)
            except AllocationFormatError as error:
                return str(error)
        return ""


def _csv_problem(cells: Mapping[str, str]) -> str:
    allowed = PROJECT_ROLES if cells["project"] else PORTAL_ROLES
    describes_project = bool(cells["gpu_hours"] or cells[SCIENCE_FIELD])
    if describes_project and (cells["username"] or not cells["project"]):
        what = "GPU-hours belong" if cells["gpu_hours"] else "a science field belongs"
        return f"{what} in a row of their project without a username"
    if not describes_project and not NAME.fullmatch(cells["username"]):
        return f"{cells['username']!r} is not a valid account name"
    if cells["project"] and not NAME.fullmatch(cells["project"]):
        return f"{cells['project']!r} is not a valid project name"
    if cells["role"] and cells["role"].lower() not in allowed:
        return f"role {cells['role']!r} is not one of {', '.join(allowed)}"
    if cells["subject"] and subject_of(cells["subject"]) is None:
        return f"{cells['subject']!r} is not a valid identifier: at most 255 ASCII characters without white space"
    if cells["email"] and not EMAIL.fullmatch(cells["email"]):
        return "the e-mail address is not valid"
    return ""


def from_project_files(files: Mapping[str, str], *, is_complete: bool) -> Directory:
    """LUMI's `project_N.json` by project name: `members.<account>.active`; they name no PI.

    >>> from_project_files({"p": '{"members": {"alice": {"active": true}, "bob": {"active": false}}}'},
    ...                    is_complete=False).roles
    {'p': {'alice': 'member'}}
    """
    roles: dict[str, dict[str, str]] = {}
    allocations: dict[str, AllocatedHours] = {}
    science_fields: dict[str, str] = {}
    tells_fields = False
    skipped: list[str] = []
    for project, text in sorted(files.items()):
        about, active = _project_file(project, text)
        if not NAME.fullmatch(project):
            skipped.append(f"{project!r} is not a valid project name")
            continue
        roles[project] = {}
        for user in active:
            if NAME.fullmatch(user):
                _add(roles, project, user, "member")
            else:
                skipped.append(f"{project}: {user!r} is not a valid account name")
        skipped += _add_hours(allocations, project, of_project_file, about)
        tells_fields |= SCIENCE_FIELD in about
        if science_field := science_field_of(about.get(SCIENCE_FIELD)):
            science_fields[project] = science_field
    return Directory(
        source="lumi",
        roles=roles,
        allocations=allocations,
        science_fields=science_fields,
        is_complete=is_complete,
        tells_hours=True,
        tells_fields=tells_fields,
        skipped=tuple(skipped),
    )


def _project_file(project: str, text: str) -> tuple[Mapping[str, Any], list[str]]:
    """What one file states, and the active members among it."""
    try:
        about = json.loads(text)
        return about, [user for user, member in about["members"].items() if member["active"] is True]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DirectoryFormatError(f"{project}: not a project file: no members with `active`") from None


def _add_hours(
    allocations: dict[str, AllocatedHours],
    project: str,
    read: Callable[[Mapping[str, Any]], AllocatedHours | None],
    about: Mapping[str, Any],
) -> list[str]:
    """Add the allocation of a project, if the directory states one; returns the problem with it, if any."""
    try:
        hours = read(about)
    except AllocationFormatError as error:
        return [f"{project}: {error}"]
    if hours is not None:
        allocations[project] = hours
    return []


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
            skipped.append(f"{row['Account']}: {row['User']!r} is not a valid account name")
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
        raise DirectoryFormatError(f"the table of sacctmgr has no columns {', '.join(columns)}")
    for line in filter(None, lines):
        cells = line.split("|")
        if len(cells) != len(names):
            raise DirectoryFormatError(f"the table of sacctmgr has a row of a different length: {line[:200]!r}")
        yield dict(zip(names, cells, strict=True))


def from_waldur(
    offering_users: Iterable[Mapping[str, Any]],
    teams: Mapping[str, Iterable[Mapping[str, Any]]],
    resources: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    now: datetime,
    case: str = EXACT,
) -> Directory:
    """Waldur's offering users, and for each project its `list_users` and its resource; expired roles are ignored.

    Of an offering user `user_username` is the identifier and `username` the account on LUMI; it counts while its
    state is OK and it is not restricted. A member without an account is left out until it has one. `case` is
    how identifiers are compared, one of SUBJECT_CASES.
    """
    subjects, skipped = _offering_accounts(offering_users, case)
    account_of = {subject: user for user, subject in subjects.items()}
    roles: dict[str, dict[str, str]] = {}
    allocations: dict[str, AllocatedHours] = {}
    for project, team in teams.items():
        if not NAME.fullmatch(project):
            skipped.append(f"{project!r} is not a valid project name")
            continue
        roles.setdefault(project, {})
        for row in team:
            member = account_of.get(subject_of(row.get("user_username"), case) or "")
            role = WALDUR_ROLES.get(str(row.get("role_name")))
            if member and role and not _has_passed(row.get("expiration_time"), now):
                _add(roles, project, member, role)
        skipped += _add_hours(allocations, project, of_waldur_resource, (resources or {}).get(project, {}))
    return Directory(
        source="waldur",
        roles=roles,
        subjects=subjects,
        allocations=allocations,
        links_identities=True,
        tells_hours=True,
        skipped=tuple(skipped),
    )


def _offering_accounts(rows: Iterable[Mapping[str, Any]], case: str) -> tuple[dict[str, str], list[str]]:
    """The identifier of each account of an offering, and the rows that were left out."""
    links, skipped = [], []
    for row in rows:
        subject, user = subject_of(row.get("user_username"), case), row.get("username") or ""
        if not user or row.get("is_restricted") or row.get("state", "OK") != "OK":
            continue
        if subject is None or not isinstance(user, str) or not NAME.fullmatch(user):
            skipped.append(f"offering user {user!r}: no account name, or no identifier")
            continue
        links.append((user, subject))
    subjects, doubtful = one_to_one(links)
    return subjects, [*skipped, *doubtful]


def _has_passed(text: object, now: datetime) -> bool:
    if not text:
        return False
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise DirectoryFormatError(f"{str(text)[:40]!r} is not a time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)) <= now


def one_to_one(links: Iterable[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Accounts and identities that belong only to each other; ambiguous pairs are left out.

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
