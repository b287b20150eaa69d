"""`manage.py create_comment_token`: let an operator of Slurm read comments of judged jobs; `--revoke` ends that."""

from __future__ import annotations

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError
from django.utils import timezone

from jobs.audit.services import by_command
from jobs.comment_tokens.services import revoke_comment_token
from jobs.models import CommentToken
from portal.sign_in.comment_tokens import issue_comment_token

NAME_LENGTH_MAX = CommentToken._meta.get_field("name").max_length or 0
IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}")
"""Names of clusters, as in job records."""
DAYS, DAYS_MAX = 365, 730
BY = by_command("create_comment_token")


class Command(BaseCommand):
    help = (
        "Create a token with which `kaiku-collector comments` reads the comments of one cluster's judged jobs, and"
        " print it; it is stored hashed and cannot be shown again. With --revoke the token of that name ends at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="where it is, for example slurm-operator")
        parser.add_argument("--cluster", default="", help="the cluster whose comments it reads, as Slurm names it")
        parser.add_argument("--days", type=int, default=DAYS, help=f"how long it is valid, at most {DAYS_MAX} days")
        parser.add_argument("--revoke", action="store_true", help="revoke the token of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        name, cluster, days = options["name"], options["cluster"], options["days"]
        if options["revoke"]:
            token = CommentToken.objects.filter(name=name, revoked_at=None).first()
            if token is None:
                raise CommandError(f"there is no valid token named {name}")
            revoke_comment_token(token, timezone.now(), BY)
            return
        if not name.isprintable() or not 0 < len(name) <= NAME_LENGTH_MAX:
            raise CommandError(f"{name!r}: a name has 1 to {NAME_LENGTH_MAX} printable characters")
        if not IDENTIFIER.fullmatch(cluster):
            raise CommandError(f"--cluster {cluster!r}: must be the name of a cluster")
        if not 1 <= days <= DAYS_MAX:
            raise CommandError(f"--days {days}: must be from 1 to {DAYS_MAX}")
        try:
            secret = issue_comment_token(name, cluster=cluster, days=days, now=timezone.now(), by=BY)
        except IntegrityError as error:
            raise CommandError(f"a token named {name} already exists") from error
        self.stdout.write(secret)
