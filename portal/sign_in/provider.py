"""The OpenID provider of this portal: its configuration in the environment, and its own metadata.

The provider is contacted only when somebody signs in, so the portal starts and serves signed-in people without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from jobs.http_client import Answer, CallFailed, HttpClient
from portal.environment import number, text, words
from portal.sign_in.kept_answers import KeptAnswers, ProviderFault

# OpenID Connect Discovery 1.0, section 3; the last is RP-Initiated Logout 1.0, section 2.1.
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "end_session_endpoint")
NEEDED = ENDPOINTS[:4]
NO_PROVIDER = "This portal does not use a sign-in provider."
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANSWER_BYTES_MAX = 2**20
"""Size limit after unpacking; a provider's metadata, keys or answer about a person have some kilobytes."""

_discovered = KeptAnswers(kept_s=3600.0, pause_s=5.0)
# Only for tokens that anybody may send here: keys of a new name are fetched, but not again for each invented name.
_keys = KeptAnswers(kept_s=600.0, pause_s=30.0)


@dataclass(frozen=True)
class Provider:
    """A configured provider; `endpoints` are those set in the environment, the others are discovered.

    `role_groups` maps support, policy and administrator to the values of `groups_claim` that give these roles.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str = "MyAccessID"
    scopes: str = "openid email"
    timeout_s: float = 10.0
    endpoints: Mapping[str, str] = field(default_factory=dict)
    groups_claim: str = ""
    role_groups: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def endpoint(self, name: str) -> str:
        """The address of one endpoint; empty if the provider has none. Raises ProviderFault."""
        if name in self.endpoints or all(needed in self.endpoints for needed in NEEDED):
            return self.endpoints.get(name, "")
        found = self.metadata().get(name, "")
        if not isinstance(found, str) or (found and not is_safe_address(found)):
            raise ProviderFault(f"discovery contains no safe {name}")
        return found

    @property
    def sends_secret_in_body(self) -> bool:
        """Whether the token endpoint needs the secret in the body; by default it is sent as HTTP Basic."""
        if all(needed in self.endpoints for needed in NEEDED):
            return False
        methods = self.metadata().get("token_endpoint_auth_methods_supported")
        return isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods

    def metadata(self) -> Mapping[str, Any]:
        """The discovery document, fetched once an hour. Raises ProviderFault."""
        return _discovered.get(self.issuer, self._discovery)

    def _discovery(self) -> dict[str, Any]:
        found = self.json(requests.Request("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"))
        if found.get("issuer") != self.issuer:
            raise ProviderFault("the discovery document is for another issuer")
        return found

    def keys(self) -> dict[str, Any]:
        """The keys with which the provider signs, as it publishes them now. Raises ProviderFault."""
        return self.json(requests.Request("GET", self.endpoint("jwks_uri")))

    def kept_keys(self, kid: object) -> Mapping[str, Any]:
        """The same, fetched at most twice a minute, and only if the key of this name is not known already."""
        return _keys.get(self.issuer, self.keys, lambda jwks: kid is None or kid in _key_names(jwks))

    def json(self, request: requests.Request) -> dict[str, Any]:
        """The JSON object that answers a request. Raises ProviderFault."""
        return as_object(self.answer(request))

    def answer(self, request: requests.Request) -> Answer:
        """The answer with status 200 to a request, complete within `timeout_s`. Raises ProviderFault."""
        try:
            with HttpClient(seconds=self.timeout_s, bytes_max=ANSWER_BYTES_MAX) as client:
                answer = client.answer(request)
        except CallFailed as error:
            raise ProviderFault(f"{request.url}: {error}") from error
        if answer.status != requests.codes.ok:
            raise ProviderFault(f"{request.url}: answered with status {answer.status}")
        return answer


def the_provider() -> Provider:
    """The one that people sign in through. Raises ImproperlyConfigured where none is set up."""
    provider: Provider | None = settings.OIDC_PROVIDER
    if provider is None:
        raise ImproperlyConfigured("no OpenID provider is set up")
    return provider


def _key_names(jwks: Mapping[str, Any]) -> set[object]:
    keys = jwks.get("keys")
    named = (key.get("kid") for key in (keys if isinstance(keys, list) else []) if isinstance(key, dict))
    return {name for name in named if isinstance(name, str)}


def as_object(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer. Raises ProviderFault."""
    try:
        found = answer.json()
    except (ValueError, RecursionError) as error:
        raise ProviderFault(f"{answer.url}: not JSON") from error
    if not isinstance(found, dict):
        raise ProviderFault(f"{answer.url}: not a JSON object")
    return found


def provider_from_environment() -> Provider | None:
    """The provider that OIDC_ISSUER and the other OIDC settings describe; None without; ImproperlyConfigured if
    incomplete."""
    issuer, client_id, secret = text("OIDC_ISSUER"), text("OIDC_CLIENT_ID"), text("OIDC_CLIENT_SECRET")
    given = {"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": client_id, "OIDC_CLIENT_SECRET": secret}
    if not any(given.values()):
        return None
    absent = [name for name, value in given.items() if not value]
    if absent:
        raise ImproperlyConfigured(f"sign-in through a provider also needs {', '.join(absent)}")
    endpoints = {
        "authorization_endpoint": text("OIDC_AUTHORIZATION_ENDPOINT"),
        "token_endpoint": text("OIDC_TOKEN_ENDPOINT"),
        "userinfo_endpoint": text("OIDC_USERINFO_ENDPOINT"),
        "jwks_uri": text("OIDC_JWKS_URI"),
        "end_session_endpoint": text("OIDC_END_SESSION_ENDPOINT"),
    }
    for name, value in {"issuer": issuer, **endpoints}.items():
        if value and not is_safe_address(value):
            raise ImproperlyConfigured(f"OIDC_{name.upper()} must be an https:// address, not {value!r}")
    return Provider(
        issuer=issuer,
        client_id=client_id,
        client_secret=secret,
        name=text("OIDC_NAME", "MyAccessID"),
        scopes=text("OIDC_SCOPES", "openid email"),
        timeout_s=number("OIDC_TIMEOUT_SECONDS", 10),
        endpoints={name: value for name, value in endpoints.items() if value},
        groups_claim=text("OIDC_GROUPS_CLAIM"),
        role_groups={
            "support": frozenset(words("SUPPORT_GROUPS", "")),
            "policy": frozenset(words("POLICY_GROUPS", "")),
            "administrator": frozenset(words("ADMINISTRATOR_GROUPS", "")),
        },
    )


def is_safe_address(url: str) -> bool:
    """Whether this is an https address, or an address of this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        )
    except ValueError:
        return False


def origin(url: str) -> str:
    """`https://host:port` of an address, as a Content-Security-Policy names it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def form_targets(provider: Provider | None) -> list[str]:
    """Where the sign-out form may be redirected beside this portal: browsers apply `form-action` to redirects too."""
    if provider is None:
        return []
    return sorted({origin(url) for url in (provider.issuer, provider.endpoints.get("end_session_endpoint")) if url})
