"""Who signs in: mozilla-django-oidc's code flow, with the checks that it omits, matched on `sub` only.

The library checks neither issuer nor audience, matches people by e-mail, and turns most errors of a provider into a
server error. Every step that contacts the provider or trusts a token is replaced here.
"""

from typing import Any

import requests
from django.conf import settings
from django.contrib.auth import get_user_model
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.utils import import_from_settings

from jobs.models import User
from jobs.selectors import linked_user
from jobs.services import record_sign_in
from portal.sign_in.id_tokens import id_token_claims, same_person, signed_userinfo
from portal.sign_in.identities import sid_digest
from portal.sign_in.kept_answers import ProviderFault
from portal.sign_in.provider import Provider, as_object, the_provider

EMAIL_LENGTH_MAX = 254


class NotLinked(RuntimeError):
    """A valid identity that no directory has linked to an open LUMI account; the message is the identifier."""


def library_setting(name: str, *default: Any) -> Any:
    """A setting of mozilla-django-oidc, derived from the one provider of this portal."""
    provider = the_provider()
    answers = {
        "OIDC_RP_CLIENT_ID": provider.client_id,
        "OIDC_AUTHENTICATION_CALLBACK_URL": "sign-in-callback",
    }
    return answers[name] if name in answers else import_from_settings(name, *default)


class ProviderBackend(OIDCAuthenticationBackend):
    """Raises ProviderFault, IdentityRefused and NotLinked from `authenticate`; the callback page handles each of them.

    `id_token` and `sid`, the digest of the provider's session, are those of the sign-in that `authenticate` checked.
    """

    id_token = sid = ""

    def __init__(self) -> None:
        # The library's own method would request all endpoints here, and a backend is created for every request of a
        # session.
        self.UserModel = get_user_model()

    @staticmethod
    def get_settings(attr: str, *args: Any) -> Any:
        return library_setting(attr, *args)

    @property
    def provider(self) -> Provider:
        return the_provider()

    @property
    def OIDC_RP_CLIENT_ID(self) -> str:
        return self.provider.client_id

    @property
    def OIDC_RP_CLIENT_SECRET(self) -> str:
        return self.provider.client_secret

    def authenticate(self, request: Any, **kwargs: Any) -> User | None:
        return super().authenticate(request, **kwargs) if settings.OIDC_PROVIDER else None

    def get_token(self, payload: dict[str, str]) -> dict[str, Any]:
        """Exchange the code for tokens, with the secret as HTTP Basic unless the provider supports only the body."""
        secret = payload.pop("client_secret")
        auth: tuple[str, str] | None = (payload["client_id"], secret)
        if self.provider.sends_secret_in_body:
            payload, auth = payload | {"client_secret": secret}, None
        url = self.provider.endpoint("token_endpoint")
        return self.provider.json(requests.Request("POST", url, data=payload, auth=auth))

    def verify_token(self, token: object, **kwargs: Any) -> dict[str, Any]:
        provider = self.provider
        nonce = kwargs.get("nonce") or ""
        return id_token_claims(
            token, provider.keys(), issuer=provider.issuer, client_id=provider.client_id, nonce=nonce
        )

    def store_tokens(self, access_token: object, id_token: object) -> None:
        """Store nothing in a session before the person is known."""

    def get_userinfo(self, access_token: object, id_token: object, payload: dict[str, Any]) -> dict[str, Any]:
        """The provider's claims about the person, as JSON or as a signed token."""
        if not isinstance(access_token, str) or not access_token.isascii() or not access_token.isprintable():
            raise ProviderFault("the provider sent no access token")
        bearer = {"Authorization": f"Bearer {access_token}"}
        url = self.provider.endpoint("userinfo_endpoint")
        answer = self.provider.answer(requests.Request("GET", url, headers=bearer))
        if answer.headers.get("content-type", "").lower().startswith("application/jwt"):
            who = {"issuer": self.provider.issuer, "client_id": self.provider.client_id}
            return signed_userinfo(answer.content.decode(errors="replace"), self.provider.keys(), **who)
        return as_object(answer)

    def get_or_create_user(self, access_token: object, id_token: object, payload: dict[str, Any]) -> User:
        """The account that the identity is linked to; accounts are never created here."""
        userinfo = self.get_userinfo(access_token, id_token, payload)
        subject = same_person(payload, userinfo, settings.OIDC_SUBJECT_CASE)
        self.id_token, self.sid = str(id_token), sid_digest(self.provider.issuer, payload.get("sid"))
        user = linked_user(subject)
        if user is None:
            raise NotLinked(subject)
        record_sign_in(user, email=_email(userinfo), roles=self._roles(userinfo))
        user.refresh_from_db()
        return user

    def get_user(self, user_id: object) -> User | None:
        user = super().get_user(user_id)
        return user if user is not None and user.is_active and user.oidc_subject else None

    def _roles(self, userinfo: dict[str, Any]) -> list[str] | None:
        """The portal roles of the person's groups; None if no claim is configured for them."""
        if not self.provider.groups_claim:
            return None
        said = userinfo.get(self.provider.groups_claim)
        several = said if isinstance(said, list) else [said]
        groups = {group for group in several if isinstance(group, str)}
        return [role for role, wanted in self.provider.role_groups.items() if wanted & groups]


def _email(userinfo: dict[str, Any]) -> str:
    said = userinfo.get("email")
    # A provider without this claim is trusted to have verified its addresses; any value other than a plain yes means
    # no.
    if not isinstance(said, str) or userinfo.get("email_verified", True) is not True:
        return ""
    return said if "@" in said and said.isprintable() and len(said) <= EMAIL_LENGTH_MAX else ""
