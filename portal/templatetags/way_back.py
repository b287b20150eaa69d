"""The link of an error page back to where somebody came from: a page of this site, or none."""

from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

register = template.Library()


class Link(NamedTuple):
    """An address of this site, without its host, and what to call it."""

    url: str
    text: str


@register.simple_tag(takes_context=True)
def way_back(context: dict[str, Any]) -> Link | None:
    """The page of the job whose form was sent, else the page of this site that the request came from."""
    request: HttpRequest | None = context.get("request")
    if request is None:
        return None
    return _job(request) or _referring(request)


def _job(request: HttpRequest) -> Link | None:
    match = request.resolver_match
    if match is None or not {"cluster", "job_id"} <= match.kwargs.keys():
        return None
    page = reverse("job", args=[match.kwargs["cluster"], match.kwargs["job_id"]])
    attempt = request.GET.get("attempt", "")
    url = f"{page}?{urlencode({'attempt': attempt})}" if attempt.isdecimal() else page
    return Link(url, f"Back to job {match.kwargs['job_id']}")


def _referring(request: HttpRequest) -> Link | None:
    """The page before, on this host alone; not the page that was refused itself."""
    address = request.META.get("HTTP_REFERER", "")
    if not url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return None
    parts = urlsplit(address)
    if not parts.path.startswith("/") or parts.path.startswith("//") or parts.path == request.path:
        return None
    return Link(parts._replace(scheme="", netloc="", fragment="").geturl(), "Back to the page before")
