"""The raw samples of a run as CSV: every tick of every GPU, node by node as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, timedelta

import numpy as np
from django.http import Http404, StreamingHttpResponse
from numpy.typing import NDArray
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from metrics.selectors import Key, RawSamples, raw_windows, raw_windows_held
from portal.access import open_run
from portal.api.rate_limits import Downloads
from portal.csv_lines import csv_lines

COLUMNS = ("node", "gpu_id", "at", "util_percent", "mem_gb")


class JobRawSamples(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/raw-samples.csv`: 404 if there are none, the same as for a stranger.

    The site's samples of a run that only its owner reported are shown to nobody until the site states whose run it is.
    """

    def get_throttles(self) -> list[BaseThrottle]:
        return [*super().get_throttles(), Downloads()]

    def get(self, request: Request, cluster: str, job_id: int) -> StreamingHttpResponse:
        run = open_run(request, cluster, job_id)
        key = (run.cluster, run.job_id, run.attempt)
        if run.is_told_by_owner or raw_windows_held(key) is None:
            raise Http404("There are no raw samples of this job.")
        name = f"kaiku-{run.cluster}-{run.job_id}-raw-samples.csv"
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingHttpResponse(_parts(key), content_type="text/csv; charset=utf-8", headers=disposition)


def _parts(key: Key) -> Iterator[str]:
    """The head, then one GPU after another: only the samples of a few nodes are in memory at a time."""
    yield "".join(csv_lines([COLUMNS]))
    for window in raw_windows(key):
        ats = [_instant(window, at_s) for at_s in window.at_s.tolist()]
        for place, gpu_id in enumerate(window.gpu_ids):
            columns = (ats, _shown(window.util[:, place]), _shown(window.mem_gb[:, place]))
            yield "".join(csv_lines((window.node, gpu_id, *cells) for cells in zip(*columns, strict=True)))


def _instant(window: RawSamples, at_s: float) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    at = window.started_at.astimezone(UTC) + timedelta(seconds=at_s)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(samples: NDArray[np.float32]) -> list[str]:
    """Each sample with no more digits than it has, a gap as an empty field; never a negative number or negative
    zero."""
    return ["" if np.isnan(sample) else str(np.abs(sample)) for sample in samples]
