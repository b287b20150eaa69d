"""The calls about single runs: what a script reports, the points of their metrics, and their files."""

from collections.abc import Iterator
from http import HTTPStatus

import msgspec
from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from jobs.experiments.models import ExperimentRun
from jobs.experiments.selectors import artifacts_of, series_of
from jobs.experiments.services.artifacts import state_files
from jobs.experiments.services.runs import change_run, delete_run
from portal.access import person, visible_experiment_run
from portal.api.asked import asked_text
from portal.api.experiments import LoggingView
from portal.api.run_answers import ArtifactAnswer, moment, run_answers, series_answer
from portal.api.run_bodies import ArtifactRequest, RunPatch, body_of, change_of, stated_files, stated_job
from portal.charts.logged_runs import json_number
from portal.downloads import streamed
from portal.tracking.own_points import OWN_POINTS
from portal.tracking.views import take
from reports.from_rows import struct_from
from wire.csv_cells import csv_lines

POINT_COLUMNS = ("metric", "step", "time", "value")


class RunDetail(LoggingView):
    """`/api/v1/runs/{id}`: read by all who see it, changed and deleted by its owner."""

    def get(self, request: Request, run_id: str) -> Response:
        return Response(msgspec.to_builtins(run_answers([visible_experiment_run(request, run_id)], person(request))[0]))

    def patch(self, request: Request, run_id: str) -> Response:
        asked = body_of(request, RunPatch)
        change_run(person(request), run_id, change_of(asked), timezone.now(), stated_job(asked))
        return self.get(request, run_id)

    def delete(self, request: Request, run_id: str) -> Response:
        delete_run(person(request), run_id)
        return Response(status=HTTPStatus.NO_CONTENT)


class RunMetrics(LoggingView):
    """`/api/v1/runs/{id}/metrics`: the points of all metrics, or of the one in `?name=`; and new ones.

    On the portal's own server new points come in where they are committed together (`portal.tracking.asgi`).
    """

    def get_throttles(self) -> list[BaseThrottle]:
        # A script that has to wait stops training; what it may send is bounded otherwise.
        return [] if self.request.method == "POST" else super().get_throttles()

    def get(self, request: Request, run_id: str) -> Response:
        run, name = visible_experiment_run(request, run_id), asked_text(request, "name")
        found = series_of(run, [name] if name else None)
        return Response(msgspec.to_builtins([series_answer(name, series) for name, series in found.items()]))

    def post(self, request: Request, run_id: str) -> HttpResponse:
        return take(request._request, OWN_POINTS, run_id=run_id)


class RunMetricsCsv(LoggingView):
    """`GET /api/v1/runs/{id}/metrics.csv`: a row for each kept point."""

    def get(self, request: Request, run_id: str) -> StreamingHttpResponse:
        run = visible_experiment_run(request, run_id)
        return streamed(csv_lines(_point_rows(run)), f"kaiku-run-{run_id}.csv")


class RunArtifacts(LoggingView):
    """`/api/v1/runs/{id}/artifacts`: the files of a run by path, and new ones."""

    def get(self, request: Request, run_id: str) -> Response:
        files = artifacts_of(visible_experiment_run(request, run_id))
        return Response(msgspec.to_builtins([struct_from(ArtifactAnswer, file) for file in files]))

    def post(self, request: Request, run_id: str) -> Response:
        asked = body_of(request, ArtifactRequest | list[ArtifactRequest])  # type: ignore[arg-type]
        stated = state_files(person(request), run_id, stated_files(asked), timezone.now())
        return Response({"accepted": stated}, HTTPStatus.CREATED)


def _point_rows(run: ExperimentRun) -> Iterator[tuple[object, ...]]:
    yield POINT_COLUMNS
    for name, series in series_of(run).items():
        points = series.points
        rows = zip(points.steps.tolist(), points.times_ms.tolist(), points.values.tolist(), strict=True)
        for step, time_ms, value in rows:
            yield name, step, moment(time_ms).isoformat(), json_number(value)
