"""Whether to trust what a provider signed: signature, issuer, audience, times, nonce, and only one person.

OpenID Connect Core 1.0, sections 3.1.3.7 (ID token) and 5.3 (userinfo); Back-Channel Logout 1.0, section 2.6 (logout
token). No network access here.
"""

import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from jobs.directory import EXACT, LOWER, subject_of

ALGORITHMS = {"RS256": "RSA", "ES256": "EC"}  # and the kind of key that each one needs
CLOCK_SKEW_S = 60
# MyAccessID's own test identity, which no service may accept.
REFUSED_SUBJECTS = frozenset({"test@myaccessid.org"})
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_TOKEN_KINDS = ("logout+jwt", "application/logout+jwt", "jwt")
"""The `typ` that a logout token may have, if it has one (Back-Channel Logout 1.0, section 2.4)."""
LOGOUT_TOKEN_BYTES_MAX = 16 * 2**10
LOGOUT_TOKEN_S = 600
"""Maximum age of a logout token. Providers send it at once, and it is remembered for the same time."""
NAME_LENGTH_MAX = 1024
"""Length limit for the names of tokens and sessions, for which no standard sets one."""


class IdentityRefused(RuntimeError):
    """What the provider signed cannot be trusted, or names somebody who must not be signed in."""


def id_token_claims(
    token: object, jwks: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """The claims of an ID token of this issuer, for this portal and exactly this sign-in. Raises IdentityRefused."""
    claims = _decoded(
        token, jwks, issuer=issuer, audience=client_id, options={"require": ["exp", "iat", "iss", "aud", "sub"]}
    )
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    party = claims.get("azp")
    if (party is not None and party != client_id) or (party is None and len(audiences) > 1):
        raise IdentityRefused("the token was issued for another service")
    said = claims.get("nonce")
    if not nonce or not isinstance(said, str) or not hmac.compare_digest(said.encode(errors="replace"), nonce.encode()):
        raise IdentityRefused("the token belongs to another sign-in")
    return claims


def signed_userinfo(token: object, jwks: Mapping[str, Any], *, issuer: str, client_id: str) -> dict[str, Any]:
    """The claims of a userinfo answer in the form of a signed token. Raises IdentityRefused."""
    return _decoded(token, jwks, issuer=issuer, audience=client_id, options={"require": ["iss", "aud", "sub"]})


@dataclass(frozen=True)
class Logout:
    """What a logout token ends: the person's identifier as it is stored, the provider's session, or both."""

    subject: str | None
    sid: str | None
    jti: str


def logout_of(token: object, jwks: Mapping[str, Any], *, issuer: str, client_id: str, case: str = EXACT) -> Logout:
    """What a logout token of this issuer ends, and the token's own name. Raises IdentityRefused."""
    claims = _decoded(
        token, jwks, issuer=issuer, audience=client_id, options={"require": ["exp", "iat", "iss", "aud", "jti"]}
    )
    events, jti, subject, sid = claims.get("events"), claims["jti"], claims.get("sub"), claims.get("sid")
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise IdentityRefused("the token contains no sign-out event")
    if "nonce" in claims:
        raise IdentityRefused("the token belongs to a sign-in")
    if int(claims["iat"]) < time.time() - LOGOUT_TOKEN_S:
        raise IdentityRefused("the token is too old")
    stored = subject_of(subject, case)
    is_readable = (subject is None or stored) and (sid is None or _is_name(sid)) and _is_name(jti)
    if not is_readable or (subject is None and sid is None):
        raise IdentityRefused("the token names no valid person or session")
    return Logout(stored, sid, jti)


def _is_name(said: object) -> bool:
    return isinstance(said, str) and 0 < len(said) <= NAME_LENGTH_MAX


def kid_of_logout(token: str, *, issuer: str, client_id: str) -> str | None:
    """The name of the key that should have signed this logout token, read before any key is fetched.

    Nothing in the token is trusted yet; a token that is clearly not a logout token for this portal costs only its
    reading. Raises IdentityRefused.
    """
    try:
        header = jwt.get_unverified_header(token)
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise IdentityRefused("no signed token") from error
    audiences = claims.get("aud")
    is_ours = client_id in audiences if isinstance(audiences, list) else audiences == client_id
    if str(header.get("alg")) not in ALGORITHMS or claims.get("iss") != issuer or not is_ours:
        raise IdentityRefused("the token is not from this provider or not for this portal")
    if str(header.get("typ", "JWT")).lower() not in LOGOUT_TOKEN_KINDS:
        raise IdentityRefused("the token has the wrong type")
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None


def same_person(claims: Mapping[str, Any], userinfo: Mapping[str, Any], case: str = EXACT) -> str:
    """The identifier on which ID token and userinfo agree, as it is stored. Raises IdentityRefused."""
    subject = subject_of(claims.get("sub"), case)
    if subject is None:
        raise IdentityRefused("the provider's identifier is not one of 1 to 255 ASCII characters without white space")
    if claims.get("sub") != userinfo.get("sub"):
        raise IdentityRefused("ID token and userinfo name different people")
    if subject_of(subject, LOWER) in REFUSED_SUBJECTS:
        raise IdentityRefused("the provider's test identity is not accepted")
    return subject


def _decoded(token: object, jwks: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    if not isinstance(token, str):
        raise IdentityRefused("the provider sent no signed token")
    try:
        header = jwt.get_unverified_header(token)
        key = _signing_key(header, jwks)
        return jwt.decode(token, key, algorithms=[header["alg"]], leeway=CLOCK_SKEW_S, **how)
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise IdentityRefused(f"the token is not valid: {error}") from error


def _signing_key(header: Mapping[str, Any], jwks: Mapping[str, Any]) -> jwt.PyJWK:
    """The one key of the set that may have signed: of the right type, for signatures, and with the token's `kid`."""
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
        raise IdentityRefused("the token is signed with a key that the provider does not publish")
    return jwt.PyJWK(fitting[0], algorithm=header["alg"])
