"""What is kept of identities and of the provider's sessions: digests with this portal's own key, never themselves.

HMAC-SHA-256, keyed from SECRET_KEY: subjects are names and addresses that anybody could hash and compare. With another
SECRET_KEY earlier digests meet nobody any longer.
"""

from __future__ import annotations

from django.utils.crypto import salted_hmac

SID_LENGTH_MAX = 1024


def subject_digest(subject: str) -> str:
    """Of an identifier as it is compared (`jobs.directory.subject_of`); 64 hexadecimal digits."""
    return _digest("subject", subject)


def sid_digest(issuer: str, sid: object) -> str:
    """Of the provider's name for one of its sessions; empty when it gave none, or none that is one."""
    return _digest("sid", issuer, sid) if isinstance(sid, str) and 0 < len(sid) <= SID_LENGTH_MAX else ""


def jti_digest(issuer: str, jti: str) -> str:
    """Of the name of a token."""
    return _digest("jti", issuer, jti)


def _digest(kind: str, *parts: str) -> str:
    # Half of a pair of surrogates is text in JSON, and a name like any other.
    said = "\0".join(parts).encode(errors="surrogatepass")
    return salted_hmac(f"portal.oidc.{kind}", said, algorithm="sha256").hexdigest()
