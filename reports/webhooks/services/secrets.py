"""The secrets of webhooks: the address is encrypted in the database, the key of signatures is not stored."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from reports.webhooks.models import Webhook
from reports.webhooks.signing import derived_secret


class Unreadable(Exception):
    """An address that was stored with another key of the site."""


def sealed(address: str) -> str:
    """The address as it is stored."""
    return _cipher().encrypt(address.encode()).decode()


def address_of(webhook: Webhook) -> str:
    """The address of a webhook. Raises Unreadable."""
    try:
        return _cipher().decrypt(webhook.sealed_address.encode()).decode()
    except InvalidToken as error:
        raise Unreadable from error


def signing_secret(webhook: Webhook) -> str:
    """What its receiver checks signatures with."""
    return derived_secret(_site_secret(), webhook.nonce)


def _site_secret() -> bytes:
    return settings.WEBHOOK_KEY_SECRET.encode()


def _cipher() -> Fernet:
    return Fernet(urlsafe_b64encode(hashlib.sha256(b"webhook-address:" + _site_secret()).digest()))
