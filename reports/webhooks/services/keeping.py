"""Creating, renewing and removing webhooks, each with its entry in the audit log, which names no address."""

import secrets
from datetime import datetime

from django.db import transaction

from jobs.audit.services import Action, Kind, by_person, record_change
from jobs.models import Project, User
from reports.models import Webhook, WebhookDelivery
from reports.webhooks.rules import OF_PERSON_MAX, OF_PROJECT_MAX
from reports.webhooks.selectors import own_webhooks
from reports.webhooks.services.posting import checked_target
from reports.webhooks.services.secrets import sealed

ENDING_CHARACTERS, ENDING_OF_MIN = 4, 24
"""So much of an address is shown, of one that is long enough for the rest to stay a secret."""


class TooMany(Exception):
    """The limit of a person or project is reached."""


def create_webhook(
    owner: User, *, name: str, shape: str, address: str, project: Project | None, now: datetime
) -> Webhook:
    """Store a webhook. Raises TooMany, ValueError for the address, and IntegrityError where the owner has that name."""
    target = checked_target(address)
    ending = address[-ENDING_CHARACTERS:] if len(target.path) >= ENDING_OF_MIN else ""
    with transaction.atomic():
        # Two forms at once count one after the other.
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        if project is not None:
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if own_webhooks(owner, project).count() >= (OF_PROJECT_MAX if project else OF_PERSON_MAX):
            raise TooMany
        webhook = Webhook.objects.create(
            owner=owner,
            project=project,
            name=name,
            shape=shape,
            sealed_address=sealed(address),
            host=target.host[:255],
            ending=ending,
            nonce=secrets.token_hex(16),
            created_at=now,
            since=now,
        )
        record_change(by_person(owner), Action.WEBHOOK_MADE, Kind.WEBHOOK, webhook.pk, _details(webhook))
    return webhook


def renew_secret(webhook: Webhook, by: User) -> None:
    """Give a webhook a new key of signatures; the old one is of no use from now on."""
    with transaction.atomic():
        webhook.nonce = secrets.token_hex(16)
        webhook.save(update_fields=["nonce"])
        record_change(by_person(by), Action.WEBHOOK_CHANGED, Kind.WEBHOOK, webhook.pk, "new secret")


def switch_on(webhook: Webhook, by: User, now: datetime) -> None:
    """Switch a webhook on again; words found before are not posted."""
    with transaction.atomic():
        webhook.off_at = webhook.failing_since = webhook.paused_until = None
        webhook.failures, webhook.since = 0, now
        webhook.save(update_fields=["off_at", "failing_since", "paused_until", "failures", "since"])
        record_change(by_person(by), Action.WEBHOOK_CHANGED, Kind.WEBHOOK, webhook.pk, "switched on")


def remove_webhook(webhook: Webhook, by: User) -> None:
    """Delete a webhook with its address and all its deliveries."""
    with transaction.atomic():
        record_change(by_person(by), Action.WEBHOOK_REMOVED, Kind.WEBHOOK, webhook.pk, _details(webhook))
        webhook.delete()


def request_test(webhook: Webhook, now: datetime) -> bool:
    """Put a test into the outbox, which is posted once, also in a pause; False while one waits."""
    with transaction.atomic():
        Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
        open_states = (WebhookDelivery.State.PENDING, WebhookDelivery.State.SENDING)
        if WebhookDelivery.objects.filter(webhook=webhook, is_test=True, state__in=open_states).exists():
            return False
        WebhookDelivery.objects.create(webhook=webhook, is_test=True, created_at=now, due_at=now)
    return True


def _details(webhook: Webhook) -> str:
    whose = f"of {webhook.project.name}" if webhook.project else "personal"
    return f"{whose}, {webhook.shape}, {webhook.host}"
