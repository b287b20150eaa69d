"""`manage.py serve`: the server of pages and ingest, or with --ingest-only of the ingest alone."""

import socket
from copy import deepcopy
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.mp import MPServer

from portal.environment import own_address

DEFAULT_HOST = "127.0.0.1"

HEAD_MS = 10_000
"""The head of a request must arrive within this time."""

CONNECTIONS_MAX = 8192
"""Simultaneous connections for each process: all nodes of LUMI-G at the same moment, and people."""

PAGES, INGEST_ONLY = "portal.asgi:application", "portal.ingest.server:application"


class Command(BaseCommand):
    help = "Serve the portal and the ingest; --ingest-only for a process that only receives payloads."
    requires_system_checks = ()
    """They import every page, and the processes of the server are forked from this one."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default=settings.BIND, help="address and port (default %(default)s)")
        parser.add_argument("--ingest-only", action="store_true", help="receive payloads, serve no pages")
        # An embedded database has one writer at a time; a second process would only wait for the first.
        parser.add_argument("--workers", type=int, help="processes (default 2; 1 with --ingest-only or with SQLite)")

    def handle(self, *args: Any, **options: Any) -> None:
        host, _, port = options["bind"].rpartition(":")
        if not port.isdigit():
            raise CommandError(f"--bind: {options['bind']!r} is not HOST:PORT")
        if not options["ingest_only"]:
            self.check()
        refuse_a_used_port(host, int(port))
        link_to(options["bind"])
        alone = settings.IS_EMBEDDED or options["ingest_only"]
        server(
            INGEST_ONLY if options["ingest_only"] else PAGES, host, int(port), options["workers"] or 2 - alone
        ).serve()


def link_to(bind: str) -> None:
    """Let links lead to where this is served, unless SITE_URL or HTTPS names an address; the server's processes are
    forked, and have the settings of this one."""
    if own_address(settings.BIND) == settings.SITE_URL:
        settings.SITE_URL = own_address(bind)


def refuse_a_used_port(host: str, port: int) -> None:
    """CommandError where another program listens: the processes of a server share its port, and would share it, too."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]") or DEFAULT_HOST, port), family=family).close()
    except (OSError, OverflowError) as error:
        raise CommandError(f"--bind: cannot listen at {host}:{port}: {error}") from error


def server(target: str, host: str, port: int, workers: int) -> MPServer:
    """The server of an ASGI application, with a deadline for heads."""
    return MPServer(
        target,
        address=host.strip("[]") or DEFAULT_HOST,
        port=port,
        interface=Interfaces.ASGI,
        workers=workers,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEAD_MS),
        websockets=False,
        backlog=4096,
        backpressure=CONNECTIONS_MAX,
        respawn_failed_workers=True,
        # Its own log lines like all others; requests of pages are never logged (log_access).
        log_dictconfig=deepcopy(settings.LOGGING),
    )
