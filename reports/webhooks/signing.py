"""The signature of a webhook's body: HMAC-SHA256 over the time and the body, so that neither can be changed; pure."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode

SIGNATURE_HEADER, DELIVERY_HEADER = "X-Kaiku-Signature", "X-Kaiku-Delivery"
MARK = "kaiku_hook_"


def derived_secret(site_secret: bytes, nonce: str) -> str:
    """The secret of a webhook, from the site's and the webhook's own random text.

    >>> derived_secret(b"site", "00")[:15], len(derived_secret(b"site", "00"))
    ('kaiku_hook_Gkzn', 54)
    """
    digest = hmac.digest(site_secret, f"webhook:{nonce}".encode(), hashlib.sha256)
    return MARK + urlsafe_b64encode(digest).decode().rstrip("=")


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The value of the header; `at_s` is Unix time.

    >>> signature("secret", 1, b"{}")[:13], len(signature("secret", 1, b"{}"))
    ('t=1,v1=eaf5e0', 71)
    """
    return f"t={at_s},v1={hmac.new(secret.encode(), b'%d.' % at_s + body, hashlib.sha256).hexdigest()}"
