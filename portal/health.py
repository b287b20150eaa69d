"""Liveness, readiness and numbers: whether this process answers, can work, and receives data from the nodes."""

import hmac
from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from portal.system.numbers import Numbers
from portal.system.readiness import OK, parts, status_of

LOOPBACK = ("127.0.0.1", "::1")
LOCAL_NAMES = (*LOOPBACK, "localhost")
FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via")
"""Headers that proxies add: a request with one of these came from elsewhere."""


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Every component by its name; 200 while this process can work, else 503 with the short name of what is wrong."""
    found = parts(timezone.now())
    status = status_of(found)
    code = HTTPStatus.OK if status == OK else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"status": status, "parts": {part.name: part.state for part in found}}, status=code)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text, for this machine itself or with METRICS_TOKEN; 404 for others."""
    if not _may_scrape(request):
        return HttpResponse(status=HTTPStatus.NOT_FOUND)
    registry = CollectorRegistry()
    registry.register(Numbers())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_scrape(request: HttpRequest) -> bool:
    """A request that came through a proxy on this machine does not count as local."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    if settings.METRICS_TOKEN and hmac.compare_digest(given, settings.METRICS_TOKEN.encode()):
        return True
    is_forwarded = any(name in request.headers for name in FORWARDED)
    # A proxy that adds no header still passes on the public name.
    is_named_here = urlsplit(f"//{request.get_host()}").hostname in LOCAL_NAMES
    return request.META.get("REMOTE_ADDR") in LOOPBACK and is_named_here and not is_forwarded
