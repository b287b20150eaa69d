"""The secrets of webhooks: the address is encrypted in the database, the key of signatures is not stored.

A signature is HMAC-SHA256 over the time and the body, so that neither can be changed.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from reports.webhooks.models import Webhook

SIGNATURE_HEADER, DELIVERY_HEADER = "X-Kaiku-Signature", "X-Kaiku-Delivery"
MARK = "kaiku_hook_"


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


def derived_secret(site_secret: bytes, nonce: str) -> str:
    """The secret of a webhook, from the site's and the webhook's own random text.

    >>> derived_secret(b"site", "00")[:15], len(derived_secret(b"site", "00"))
    ('kaiku_hook_zTA3', 54)
    """
    digest = hmac.digest(site_secret, f"webhook:{nonce}".encode(), hashlib.sha256)
    return MARK + urlsafe_b64encode(digest).decode().rstrip("=")


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The value of the header; `at_s` is Unix time.

    >>> signature("secret", 1, b"{}")[:13], len(signature("secret", 1, b"{}"))
    ('t=1,v1=112276', 71)
    """
    return f"t={at_s},v1={hmac.new(secret.encode(), b'%d.' % at_s + body, hashlib.sha256).hexdigest()}"
