"""The raw samples of one node of a job, drawn; only where the site turns it on, for those who get them as CSV."""

import math
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from metrics.selectors import Key, raw_nodes, raw_window
from portal.access import open_run, or_404, signed_in_page
from portal.pages.raw_window.lanes import lanes_of
from portal.pages.raw_window.span import Span, asked_span, parts, zooms
from reports.services.links import job_url, raw_samples_url

NODES_LISTED_MAX = 200
"""A longer list would weigh more than the picture: then the node is written."""


@signed_in_page
def raw_window_page(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """Use and memory of each GPU, `?node=` of one node, `?from=` and `?to=` in seconds after the first sample."""
    run = open_run(request, cluster, job_id)
    key = (run.cluster, run.job_id, run.attempt)
    # The site's samples of a run that only its owner reported are nobody's until the site says whose it is.
    nodes = raw_nodes(key) if settings.RAW_ON_PAGE and not run.is_told_by_owner else []
    node = request.GET.get("node", "") or next(iter(nodes), "")
    found = raw_window(key, node) if node in nodes else None
    samples = or_404(found, "There are no raw samples of this job on this node.")
    span = asked_span(request.GET, max(math.ceil(samples.at_s[-1]), 1))
    context = {
        "run": run,
        "job_url": job_url(run),
        "csv_url": raw_samples_url(run),
        "nodes": nodes,
        "is_listed": len(nodes) <= NODES_LISTED_MAX,
        "samples": samples,
        "span": span,
        "charts": lanes_of(samples, span),
        "zooms": [(name, "" if way == span else _address(key, node, way)) for name, way in zooms(span).items()],
        "parts": [(part, _address(key, node, part)) for part in parts(span)],
    }
    return render(request, "portal/raw_window/raw_window.html", context)


def _address(key: Key, node: str, span: Span) -> str:
    """The address of another part, of the same page."""
    return "?" + urlencode({"attempt": key[2], "node": node} | span.query)
