"""Liveness, readiness and numbers: whether this process answers, can do its work, and hears from the nodes."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from metrics.selectors import collector_failures, summaries_received
from reports.selectors import reports_published

WINDOW = timedelta(hours=24)
REASONS_MAX = 50
"""A scraper keeps a series for each reason for good, so only the most frequent are told apart."""

LOOPBACK = ("127.0.0.1", "::1")


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers; 503 otherwise, without saying more to whoever asks."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "database unreachable"}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return JsonResponse({"status": "ok"})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text of the last 24 hours, for this machine itself or whoever has METRICS_TOKEN; 404 for others."""
    if not _may_scrape(request):
        return HttpResponse(status=HTTPStatus.NOT_FOUND)
    registry = CollectorRegistry()
    registry.register(_LastDay())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_scrape(request: HttpRequest) -> bool:
    """A request that came through a proxy on this machine is nobody's local request."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    if settings.METRICS_TOKEN and hmac.compare_digest(given, settings.METRICS_TOKEN.encode()):
        return True
    is_forwarded = any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"))
    return request.META.get("REMOTE_ADDR") in LOOPBACK and not is_forwarded


class _LastDay(Collector):
    """Counted from the rows at each scrape, so that any number of processes tell the same."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        since = timezone.now() - WINDOW
        summaries = GaugeMetricFamily(
            "kaiku_node_summaries_day", "Node summaries received within 24 hours", labels=["cluster"]
        )
        for cluster, count in summaries_received(since).items():
            summaries.add_metric([cluster], count)
        yield summaries
        failures = GaugeMetricFamily(
            "kaiku_collector_failures_day",
            "Node summaries within 24 hours that say what the collector could not do",
            labels=["cluster", "reason"],
        )
        for labels, count in collector_failures(since).most_common(REASONS_MAX):
            failures.add_metric(labels, count)
        yield failures
        yield GaugeMetricFamily("kaiku_reports_day", "Reports published within 24 hours", reports_published(since))
