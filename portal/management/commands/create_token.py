"""`manage.py create_token`: give access to collectors, or to a program that reads policy figures or comments."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError
from django.utils import timezone

from jobs.audit.services import by_command
from jobs.hostlist import HostlistError, node_names, short_name
from jobs.models import Token
from jobs.tokens.services import issue_tokens, revoke_token
from wire.names import SLUG

NAME_LENGTH_MAX = Token._meta.get_field("name").max_length or 0
IDENTIFIER = re.compile(SLUG)
"""Names of clusters, as in job records."""
DAYS_MAX = 730
BY = by_command("create_token")


@dataclass(frozen=True)
class Scope:
    """What a kind of token is limited by, with what is taken where nothing is said; None: not limited by it."""

    cluster: str | None = None
    days: int | None = None
    has_nodes: bool = False


SCOPES = {
    Token.Kind.COLLECTOR: Scope(cluster="lumi", has_nodes=True),
    Token.Kind.POLICY: Scope(days=365),
    Token.Kind.COMMENTS: Scope(cluster="", days=365),
}


class Command(BaseCommand):
    help = (
        "Create a token and print it; it is stored hashed and cannot be shown again. Of the kind `collector` it sends"
        " for one cluster; with --node one token for each node, named NAME-NODE and printed as node, tab, token, is"
        " valid for that node only. Of the kind `policy` it reads the policy export and the list of flags, of the"
        " kind `comments` the comments of one cluster's judged jobs. With --revoke the token of that kind and name"
        " ends at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="where the token is, for example lumi-g-nodes or slurm-controller")
        parser.add_argument("--kind", choices=[kind.value for kind in SCOPES], default=Token.Kind.COLLECTOR.value)
        parser.add_argument("--cluster", help="the only cluster for which the token is valid; lumi for collectors")
        parser.add_argument("--days", type=int, help=f"how long it is valid: 365, at most {DAYS_MAX} days")
        parser.add_argument("--revoke", action="store_true", help="revoke the token of that kind and name")
        parser.add_argument(
            "--node",
            metavar="NODES",
            help="bind tokens to nodes: nid005001, or a list such as Slurm's nid[005001-005003]",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        kind, name = Token.Kind(options["kind"]), options["name"]
        if options["revoke"]:
            _revoke(kind, name)
            return
        if not name.isprintable() or not 0 < len(name) <= NAME_LENGTH_MAX:
            raise CommandError(f"{name!r}: a name has 1 to {NAME_LENGTH_MAX} printable characters")
        nodes = _nodes(name, options["node"]) if options["node"] is not None else ()
        limits = _limits(kind, options)
        named = [(f"{name}-{node}", node) for node in nodes] or [(name, "")]
        tokens = [Token(kind=kind, name=own, node=node, **limits) for own, node in named]
        try:
            made = issue_tokens(tokens, now=timezone.now(), by=BY)
        except IntegrityError as error:
            none = "; none was created" if nodes else ""
            raise CommandError(f"a token named {_taken(tokens)} already exists{none}") from error
        for token, secret in zip(tokens, made, strict=True):
            self.stdout.write(f"{token.node}\t{secret}" if nodes else secret)


def _limits(kind: Token.Kind, options: dict[str, Any]) -> dict[str, Any]:
    """What a token of this kind is limited to; CommandError for a limit that it cannot have."""
    scope, cluster, days = SCOPES[kind], options["cluster"], options["days"]
    takes = {"cluster": scope.cluster is not None, "days": scope.days is not None, "node": scope.has_nodes}
    for option, is_taken in takes.items():
        if options[option] is not None and not is_taken:
            raise CommandError(f"--{option}: not for a token of the kind {kind}")
    cluster = scope.cluster if cluster is None else cluster
    if cluster is not None and not IDENTIFIER.fullmatch(cluster):
        raise CommandError(f"--cluster {cluster!r}: must be the name of a cluster")
    days = scope.days if days is None else days
    if days is not None and not 1 <= days <= DAYS_MAX:
        raise CommandError(f"--days {days}: must be from 1 to {DAYS_MAX}")
    until = None if days is None else timezone.now() + timedelta(days=days)
    return {"cluster": cluster or "", "expires_at": until}


def _revoke(kind: Token.Kind, name: str) -> None:
    token = Token.objects.filter(kind=kind, name=name, revoked_at=None).first()
    if token is None:
        raise CommandError(f"there is no valid {kind} token named {name}")
    revoke_token(token, timezone.now(), BY)


def _nodes(name: str, hostlist: str) -> tuple[str, ...]:
    """The nodes of the list, each once; CommandError if the list is invalid."""
    try:
        nodes = node_names(hostlist)
    except HostlistError as error:
        raise CommandError(f"--node {hostlist}: {error}") from error
    if len({short_name(node) for node in nodes}) != len(nodes):
        raise CommandError(f"--node {hostlist}: contains the same node twice")
    if longest := max((f"{name}-{node}" for node in nodes), key=len)[NAME_LENGTH_MAX:]:
        raise CommandError(f"{name}-NODE: {len(longest)} characters longer than the {NAME_LENGTH_MAX} of a name")
    return nodes


def _taken(tokens: list[Token]) -> str:
    named = [token.name for token in tokens]
    stored = Token.objects.filter(kind=tokens[0].kind, name__in=named[:1000])
    return stored.values_list("name", flat=True).first() or named[0]
