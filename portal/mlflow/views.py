"""The addresses of MLflow's clients below `/mlflow/`, and the page that the links lead through that clients print.

Every call that is answered is in its table, but for what is logged again and again (`logged`).
"""

from collections.abc import Callable
from http import HTTPMethod
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from jobs.experiments.limits import TEXT_BYTES_MAX
from jobs.experiments.rules import job_number
from jobs.experiments.services.runs import StatedJob
from portal.mlflow.answers import Code, Refused, done, no_such_call, refusal
from portal.mlflow.artifacts import NO_PARTS, download, keep, list_artifacts, list_folder
from portal.mlflow.call import Call, holder_of
from portal.mlflow.logged import LOGGED_CALLS, READERS
from portal.mlflow.runs import (
    create_experiment,
    create_run,
    delete_tag,
    get_experiment,
    get_experiment_by_name,
    get_run,
    log_inputs,
    metric_history,
    remove_experiment,
    remove_run,
    rename_experiment,
    restore,
    tag_experiment,
    update_run,
)
from portal.mlflow.search import search_experiments, search_runs
from portal.tracking.call import BODY_BYTES_MAX, Answer
from portal.tracking.views import take

CHUNK_BYTES = 2**16

Answering = Callable[[Call], dict[str, Any]]

READING: dict[str, Answering] = {
    "experiments/get-by-name": get_experiment_by_name,
    "experiments/get": get_experiment,
    "runs/get": get_run,
    "metrics/get-history": metric_history,
    "artifacts/list": list_artifacts,
}
"""The calls with GET."""

WRITING: dict[str, Answering] = {
    "experiments/create": create_experiment,
    "experiments/search": search_experiments,
    "experiments/set-experiment-tag": tag_experiment,
    "experiments/update": rename_experiment,
    "experiments/delete": remove_experiment,
    "experiments/restore": restore,
    "runs/create": create_run,
    "runs/update": update_run,
    "runs/delete": remove_run,
    "runs/restore": restore,
    "runs/delete-tag": delete_tag,
    "runs/log-inputs": log_inputs,
    "runs/search": search_runs,
}
"""Those with POST."""


BY_METHOD = {HTTPMethod.GET.value: READING, HTTPMethod.POST.value: WRITING}


@require_safe
def link(request: HttpRequest, cluster: str | None = None, job_id: str | None = None) -> HttpResponse:
    """The page that clients link to with `#/experiments/…`: a script leads on to the page of the experiment or run."""
    return render(request, "portal/mlflow/link.html")


@csrf_exempt
def tracking(request: HttpRequest, name: str, cluster: str | None = None, job_id: str | None = None) -> HttpResponse:
    """One call of the tracking server."""
    if request.method == HTTPMethod.POST and name in READERS:
        return take(request, LOGGED_CALLS, name=name)
    return _answered(request, cluster, job_id, lambda call: answer(request.method or "", name, call))


@csrf_exempt
def artifacts(
    request: HttpRequest, address: str | None = None, cluster: str | None = None, job_id: str | None = None
) -> HttpResponse:
    """Upload, download or list files of a run."""
    return _answered(request, cluster, job_id, lambda call: _of_files(request, address or "", call))


@csrf_exempt
def unknown(request: HttpRequest, name: str, cluster: str | None = None, job_id: str | None = None) -> HttpResponse:
    """Any other address: clients ask for what a server can do, and go on where it cannot."""
    return _answered(request, cluster, job_id, lambda _: _nothing_else(name))


def _answered(
    request: HttpRequest, cluster: str | None, job_id: str | None, answering: Callable[[Call], Answer]
) -> HttpResponse:
    try:
        found = answering(_call(request, cluster, job_id))
    except Exception as error:
        refused = refusal(error)
        if refused is None:
            raise
        found = refused
    return HttpResponse(found.content, found.content_type, found.status, headers=found.headers)


def _call(request: HttpRequest, cluster: str | None, job_id: str | None) -> Call:
    now = timezone.now()
    user = holder_of(request.headers.get("Authorization", ""), now)
    number = job_number(job_id or "")
    job = StatedJob(number, cluster or "") if number else None
    sent = request.read(BODY_BYTES_MAX + 1) if request.method == HTTPMethod.POST else request.GET.dict()
    return Call(user, now, sent, job)


def _of_files(request: HttpRequest, address: str, call: Call) -> Answer:
    if request.method == HTTPMethod.PUT:
        content, size_bytes = _uploaded(request)
        return keep(call, address, content, size_bytes)
    if request.method != HTTPMethod.GET:
        raise no_such_call(f"{request.method} of a file")
    return download(call, address) if address else list_folder(call, request.GET.get("path", ""))


def _uploaded(request: HttpRequest) -> tuple[bytes | None, int]:
    """The content of an upload, None if it is too large to be kept, and its size; the rest is read and discarded."""
    content = request.read(TEXT_BYTES_MAX + 1)
    size_bytes = len(content)
    while part := request.read(CHUNK_BYTES):
        size_bytes += len(part)
    return content if size_bytes <= TEXT_BYTES_MAX else None, size_bytes


def _nothing_else(name: str) -> Answer:
    if name.startswith("api/2.0/mlflow-artifacts/mpu/"):
        raise Refused(Code.NOT_IMPLEMENTED, NO_PARTS)
    raise no_such_call(name)


def answer(method: str, name: str, call: Call) -> Answer:
    """The answer to a call. Raises Refused and NotAccepted."""
    answering = BY_METHOD.get(method, {}).get(name)
    if answering is None:
        raise no_such_call(name)
    return done(answering(call))
