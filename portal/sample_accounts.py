"""Whether this portal runs on local sample accounts, for the banner of every page."""

from django.conf import settings
from django.http import HttpRequest


def sample_accounts(request: HttpRequest) -> dict[str, bool]:
    """True on an embedded portal without a provider: accounts there are for trying out."""
    return {"has_sample_accounts": settings.IS_EMBEDDED and settings.OIDC_PROVIDER is None}
