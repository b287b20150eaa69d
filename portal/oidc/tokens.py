"""Whether what a provider signed may be believed: signature, issuer, audience, times, nonce, and one person only.

OpenID Connect Core 1.0, sections 3.1.3.7 (ID token) and 5.3 (userinfo). No network here.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import jwt

from jobs.directory import subject_of

ALGORITHMS = {"RS256": "RSA", "ES256": "EC"}  # and the kind of key each takes
CLOCK_SKEW_S = 60
# MyAccessID's own test identity, which no service may let in.
REFUSED_SUBJECTS = frozenset({"test@myaccessid.org"})


class IdentityRefused(RuntimeError):
    """What the provider signed is not to be believed, or names somebody who must not come in."""


def id_token_claims(token: object, jwks: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str) -> dict:
    """The claims of an ID token of this issuer, for this portal and this very sign-in. Raises IdentityRefused."""
    claims = _decoded(
        token, jwks, issuer=issuer, audience=client_id, options={"require": ["exp", "iat", "iss", "aud", "sub"]}
    )
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    party = claims.get("azp")
    if (party is not None and party != client_id) or (party is None and len(audiences) > 1):
        raise IdentityRefused("the token was made for another service")
    said = claims.get("nonce")
    if not nonce or not isinstance(said, str) or not hmac.compare_digest(said.encode(), nonce.encode()):
        raise IdentityRefused("the token belongs to another sign-in")
    return claims


def signed_userinfo(token: object, jwks: Mapping[str, Any], *, issuer: str, client_id: str) -> dict:
    """The claims of a userinfo answer that came as a signed token. Raises IdentityRefused."""
    return _decoded(token, jwks, issuer=issuer, audience=client_id, options={"require": ["iss", "aud", "sub"]})


def same_person(claims: Mapping[str, Any], userinfo: Mapping[str, Any]) -> str:
    """The identifier that ID token and userinfo agree on, as it is stored. Raises IdentityRefused."""
    subject = subject_of(claims.get("sub"))
    if subject is None or claims.get("sub") != userinfo.get("sub"):
        raise IdentityRefused("the provider named two different people")
    if subject in REFUSED_SUBJECTS:
        raise IdentityRefused("the provider's test identity has no place here")
    return subject


def _decoded(token: object, jwks: Mapping[str, Any], **how: Any) -> dict:
    if not isinstance(token, str):
        raise IdentityRefused("the provider sent no signed token")
    try:
        header = jwt.get_unverified_header(token)
        key = _signing_key(header, jwks)
        return jwt.decode(token, key, algorithms=[header["alg"]], leeway=CLOCK_SKEW_S, **how)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise IdentityRefused(f"the token cannot be believed: {error}") from error


def _signing_key(header: Mapping[str, Any], jwks: Mapping[str, Any]) -> jwt.PyJWK:
    """The one key of the set that may have signed: of the right kind, for signatures, and of the token's `kid`."""
    kind = ALGORITHMS.get(str(header.get("alg")))
    if kind is None:
        raise IdentityRefused(f"the token is signed with {header.get('alg')!r}")
    keys = jwks.get("keys")
    fitting = [
        key
        for key in (keys if isinstance(keys, list) else [])
        if isinstance(key, dict)
        and key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", header["alg"]) == header["alg"]
        and (header.get("kid") is None or key.get("kid") == header["kid"])
    ]
    if len(fitting) != 1:
        raise IdentityRefused("the token is signed with a key that the provider does not show")
    return jwt.PyJWK(fitting[0], algorithm=header["alg"])
