"""Digests of identities and of the provider's sessions, made with this portal's own key; the originals are not stored.

HMAC-SHA-256 with a key from SECRET_KEY, because subjects are names and addresses that anybody could hash and compare.
After a change of SECRET_KEY earlier digests no longer match.
"""

from django.utils.crypto import salted_hmac

SID_LENGTH_MAX = 1024


def subject_digest(subject: str) -> str:
    """Of an identifier in the form in which it is compared (`jobs.directory.subject_of`); 64 hexadecimal digits."""
    return _digest("subject", subject)


def sid_digest(issuer: str, sid: object) -> str:
    """Of the provider's name for one of its sessions; empty if there is none or it is not valid."""
    return _digest("sid", issuer, sid) if isinstance(sid, str) and 0 < len(sid) <= SID_LENGTH_MAX else ""


def jti_digest(issuer: str, jti: str) -> str:
    """Of the name of a token."""
    return _digest("jti", issuer, jti)


def _digest(kind: str, *parts: str) -> str:
    # An unpaired surrogate is text in JSON, and valid in a name.
    said = "\0".join(parts).encode(errors="surrogatepass")
    return salted_hmac(f"portal.oidc.{kind}", said, algorithm="sha256").hexdigest()
