"""Liveness, readiness and numbers: whether this process answers, can do its work, and hears from the nodes."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from datetime import datetime, timedelta
from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from jobs.failures.selectors import failure_counts
from metrics.selectors import collector_failures, summaries_received
from portal.troubles import Trouble, present_trouble, trouble
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
    """200 while the database answers and can store; else 503 with the short name of what is wrong, and no more."""
    found = present_trouble()
    if found is not None:
        return JsonResponse({"status": found.status}, status=HTTPStatus.SERVICE_UNAVAILABLE)
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
        """Whatever can be read now, and what keeps the rest from being read: after one wait no other is begun."""
        found = None
        try:
            yield from _rows(timezone.now() - WINDOW)
        except (DatabaseError, InterfaceError) as error:
            found = trouble(error)
            if found is None:
                raise
        troubles = GaugeMetricFamily(
            "kaiku_trouble", "1 for what kept numbers from being read at this scrape", labels=["trouble"]
        )
        for each in Trouble:
            troubles.add_metric([each.status], each is found)
        yield troubles


def _rows(since: datetime) -> Iterator[GaugeMetricFamily]:
    """Families of numbers, each read when it is asked for; small tables first."""
    work = GaugeMetricFamily(
        "kaiku_work_failures",
        "Background work that failed and waits for its next try or is set aside",
        labels=["kind", "state"],
    )
    for labels, count in failure_counts().items():
        work.add_metric(labels, count)
    yield work
    yield GaugeMetricFamily("kaiku_reports_day", "Reports published within 24 hours", reports_published(since))
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
