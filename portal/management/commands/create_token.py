"""`manage.py create_token`: give access to the collectors of a cluster, with one token for all or one for each node."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction

from jobs.audit.services import Action, Change, Kind, by_command, record_changes
from jobs.hostlist import HostlistError, node_names, short_name
from metrics.models import CollectorToken
from metrics.services import create_collector_token, create_node_tokens

NAME_LENGTH_MAX = CollectorToken._meta.get_field("name").max_length


class Command(BaseCommand):
    help = (
        "Create a collector token and print it; it is stored hashed and cannot be shown again. With --node one token"
        " for each node, named NAME-NODE and printed as node, tab, token: it is valid for that node only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for, for example lumi-g-nodes")
        parser.add_argument("--cluster", default="lumi", help="the only cluster for which the token is valid")
        parser.add_argument(
            "--node",
            metavar="NODES",
            help="bind tokens to nodes: nid005001, or a list such as Slurm's nid[005001-005003]",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, cluster = options["name"], options["cluster"]
        if options["node"] is None:
            try:
                with transaction.atomic():
                    secret = create_collector_token(name, cluster)
                    _record([name], cluster)
            except IntegrityError as error:
                raise CommandError(f"a token named {name} already exists") from error
            self.stdout.write(secret)
            return
        nodes = _nodes(name, options["node"])
        try:
            with transaction.atomic():
                made = create_node_tokens(name, cluster, nodes)
                _record([f"{name}-{node}" for node in nodes], cluster)
        except IntegrityError as error:
            raise CommandError(f"a token named {_taken(name, nodes)} already exists; none was created") from error
        for node, secret in made:
            self.stdout.write(f"{node}\t{secret}")


def _record(names: list[str], cluster: str) -> None:
    made = (Change(Action.TOKEN_MADE, Kind.COLLECTOR_TOKEN, name, f"cluster {cluster}") for name in names)
    record_changes(by_command("create_token"), made)


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


def _taken(name: str, nodes: tuple[str, ...]) -> str:
    named = [f"{name}-{node}" for node in nodes]
    return CollectorToken.objects.filter(name__in=named[:1000]).values_list("name", flat=True).first() or named[0]
