"""`manage.py create_policy_token`: let a scheduler read the policy figures; `--revoke` ends that."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError
from django.utils import timezone

from jobs.audit.services import by_command
from jobs.models import PolicyToken
from jobs.policy_tokens.services import revoke_policy_token
from portal.sign_in.policy_tokens import issue_policy_token

NAME_LENGTH_MAX = PolicyToken._meta.get_field("name").max_length or 0
DAYS, DAYS_MAX = 365, 730
BY = by_command("create_policy_token")


class Command(BaseCommand):
    help = (
        "Create a token that reads the policy export and the list of flags, and print it; it is stored hashed and"
        " cannot be shown again. With --revoke the token of that name ends at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what reads with it, for example slurm-controller")
        parser.add_argument("--days", type=int, default=DAYS, help=f"how long it is valid, at most {DAYS_MAX} days")
        parser.add_argument("--revoke", action="store_true", help="revoke the token of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        name, days = options["name"], options["days"]
        if options["revoke"]:
            token = PolicyToken.objects.filter(name=name, revoked_at=None).first()
            if token is None:
                raise CommandError(f"there is no valid token named {name}")
            revoke_policy_token(token, timezone.now(), BY)
            return
        if not name.isprintable() or not 0 < len(name) <= NAME_LENGTH_MAX:
            raise CommandError(f"{name!r}: a name has 1 to {NAME_LENGTH_MAX} printable characters")
        if not 1 <= days <= DAYS_MAX:
            raise CommandError(f"--days {days}: must be from 1 to {DAYS_MAX}")
        try:
            secret = issue_policy_token(name, days=days, now=timezone.now(), by=BY)
        except IntegrityError as error:
            raise CommandError(f"a token named {name} already exists") from error
        self.stdout.write(secret)
