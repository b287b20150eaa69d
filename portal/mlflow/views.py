"""The addresses of MLflow's clients below `/mlflow/`, and the page that the links lead through that clients print."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPMethod

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from jobs.experiments.limits import TEXT_BYTES_MAX
from jobs.experiments.rules import job_number
from jobs.experiments.services.runs import StatedJob
from portal.mlflow.answers import Code, Refused, no_such_call, refusal
from portal.mlflow.artifacts import NO_PARTS, download, keep, list_folder
from portal.mlflow.call import Call
from portal.mlflow.calls import answer
from portal.mlflow.holder import holder_of
from portal.mlflow.logged import LOGGED_CALLS, READERS
from portal.tracking.call import BODY_BYTES_MAX, Answer
from portal.tracking.views import take

CHUNK_BYTES = 2**16


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
