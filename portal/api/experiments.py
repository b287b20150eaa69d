"""The calls about experiments: one's own, and those of others that a project sees."""

from http import HTTPStatus
from typing import Any

import msgspec
from django.db.models import Count, Q, QuerySet
from django.http import StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.rules import NameTaken, NoSuchExperiment, NoSuchRun, NotAccepted
from jobs.experiments.selectors import keys_by_metric, visible_experiments
from jobs.experiments.services.experiments import (
    change_experiment,
    delete_experiment,
    make_experiment,
    named_experiment,
)
from jobs.experiments.services.runs import start_run
from jobs.experiments.status import Status
from jobs.selectors import reach_of
from portal.access import person, visible_experiment
from portal.api.asked import JobPages, asked_choice, asked_text
from portal.api.authentication import LoggingTokenAuthentication
from portal.api.problems import problem
from portal.api.rate_limits import RunCalls
from portal.api.run_answers import MadeRun, experiment_answer, run_answers
from portal.api.run_bodies import (
    ExperimentChange,
    ExperimentRequest,
    RunRequest,
    Unfit,
    aware,
    body_of,
    change_of,
    stated_job,
)
from portal.charts.run_table import all_columns
from portal.downloads import streamed
from wire.csv_cells import csv_lines


class LoggingView(APIView):
    """A call of scripts and people about experiments; what is not accepted is 422, what is not theirs 404."""

    authentication_classes = (LoggingTokenAuthentication, SessionAuthentication)
    throttle_classes = (RunCalls,)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, NoSuchRun | NoSuchExperiment):
            exc = NotFound(f"There is no such {'run' if isinstance(exc, NoSuchRun) else 'experiment'} of yours.")
        elif isinstance(exc, NotAccepted):
            exc = Unfit(exc.problems)
        if isinstance(exc, Unfit):
            errors = [{"path": path, "message": message} for path, message in exc.problems]
            return problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(exc), errors=errors)
        return super().handle_exception(exc)


class Experiments(LoggingView):
    """`/api/v1/experiments/`: the list, and a new one; of a name that is known the call answers the one there is."""

    def get(self, request: Request) -> Response:
        found = visible_experiments(person(request)).order_by("-changed_at", "-pk")
        if text := asked_text(request, "q"):
            found = found.filter(name__icontains=text)
        pages = JobPages()
        page = pages.paginate_queryset(found.annotate(run_count=Count("runs")), request, view=self) or []
        return pages.get_paginated_response([_answer(each, each.run_count) for each in page])

    def post(self, request: Request) -> Response:
        user, asked, now = person(request), body_of(request, ExperimentRequest), timezone.now()
        try:
            made, is_new = make_experiment(user, now=now, **msgspec.structs.asdict(asked)), True
        except NameTaken:
            made, is_new = named_experiment(user, asked.name, now)
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(_answer(made, made.runs.count()), status)


class ExperimentDetail(LoggingView):
    """`/api/v1/experiments/{id}`: read by all who see it, changed and deleted by its owner."""

    def get(self, request: Request, pk: int) -> Response:
        found = visible_experiment(request, pk)
        return Response(_answer(found, found.runs.count()))

    def patch(self, request: Request, pk: int) -> Response:
        asked = body_of(request, ExperimentChange)
        found = change_experiment(person(request), pk, timezone.now(), **msgspec.structs.asdict(asked))
        return Response(_answer(found, found.runs.count()))

    def delete(self, request: Request, pk: int) -> Response:
        delete_experiment(person(request), pk)
        return Response(status=HTTPStatus.NO_CONTENT)


class ExperimentRuns(LoggingView):
    """`/api/v1/experiments/{id}/runs`: its runs, and a new one."""

    def get(self, request: Request, pk: int) -> Response:
        runs = asked_runs(request, visible_experiment(request, pk))
        pages = JobPages()
        # A page of the keys is one of the runs: both have the same length and order.
        keys: Any = pages.paginate_queryset(asked_order(request, runs), request, view=self)
        by_key = runs.in_bulk(keys)
        found = [by_key[key] for key in keys if key in by_key]
        return pages.get_paginated_response(msgspec.to_builtins(run_answers(found, person(request))))

    def post(self, request: Request, pk: int) -> Response:
        asked = body_of(request, RunRequest)
        run = start_run(
            person(request),
            pk,
            timezone.now(),
            change=change_of(asked),
            started_at=aware(asked.started_at),
            job=stated_job(asked),
            parent=asked.parent_run_id or "",
        )
        made = MadeRun(run.run_id, reverse("run", args=[run.run_id]))
        return Response(msgspec.to_builtins(made), HTTPStatus.CREATED)


class ExperimentRunsCsv(LoggingView):
    """`GET /api/v1/experiments/{id}/runs.csv`: a row for each run, columns for each parameter, tag and metric."""

    def get(self, request: Request, pk: int) -> StreamingHttpResponse:
        experiment = visible_experiment(request, pk)
        keys = asked_order(request, asked_runs(request, experiment))
        lines = csv_lines(all_columns(experiment, keys, reach_of(person(request)), timezone.now()))
        return streamed(lines, f"kaiku-experiment-{pk}.csv")


def asked_runs(request: Request, experiment: Experiment) -> QuerySet[ExperimentRun]:
    """The runs of an experiment that the address asks for, in no order. Raises ValidationError."""
    runs = experiment.runs.select_related("experiment__owner", "experiment__project", "owner", "parent")
    if status := asked_choice(request, "status", [word.value for word in Status], ""):
        runs = runs.filter(status=status)
    if text := asked_text(request, "q"):
        runs = runs.filter(Q(name__icontains=text) | Q(run_id__startswith=text.lower()))
    return runs


def asked_order(request: Request, runs: QuerySet[ExperimentRun]) -> list[int]:
    """The keys of these runs in the order that the address asks for: the latest first unless it says otherwise.

    `?sort=` is the name of a metric, the least last value first, with a minus the greatest first; runs without it come
    last. Raises ValidationError.
    """
    metric = asked_text(request, "sort")
    if not metric:
        return list(runs.order_by("-started_at", "-pk").values_list("pk", flat=True))
    name = metric.removeprefix("-")
    return keys_by_metric(runs, name, "last_value", is_backward=metric != name)


def _answer(experiment: Experiment, runs: int) -> Any:
    return msgspec.to_builtins(experiment_answer(experiment, runs))
