"""Who may see what: every address of the resolver, every kind of person, every verb, against one table."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from jobs.models import User
from jobs.work_key import work_key
from metrics.services import record_raw_window
from reports.services.links import opt_out_address
from tests.payloads import raw_payload

pytestmark = pytest.mark.django_db

PEOPLE = ("nobody", "stranger", "member", "owner", "pi", "staff", "policy", "administrator")
NAMES = dict(zip(PEOPLE[1:], ("dave", "bob", "alice", "carol", "erin", "frank", "grace"), strict=True))
VERBS = ("post", "put", "patch", "delete")

OPEN = (200,) * 8
SIGNED_IN = (302, 200, 200, 200, 200, 200, 200, 200)
OF_THE_JOB = (302, 404, 404, 200, 200, 404, 404, 404)
API = (401, 200, 200, 200, 200, 200, 200, 200)
API_OF_THE_JOB = (401, 404, 404, 200, 200, 404, 404, 404)
POLICY_API = (401, 404, 404, 404, 404, 404, 200, 200)
POLICY = (302, 404, 404, 404, 404, 404, 200, 200)
SITE = (302, 404, 404, 404, 404, 200, 200, 200)
STAFF = (302, 404, 404, 404, 404, 200, 404, 200)
COLLECTORS = (401,) * 8
WRITE_ONLY = (405,) * 8
NOT_FOUND, API_NOT_FOUND = (302, *(404,) * 7), (401, *(404,) * 7)
TO_THE_PAGE = (302,) * 8
# What stands at the address of a row that does not exist: the way back to the list, or no leave to do it to any row.
TO_THE_LIST, NOT_EVEN_THERE = 302, 403
JOB = {"cluster": "lumi", "job_id": 123456}
WORK = {"key": work_key(configured.WORK_KEY_SECRET.encode(), "lumi", "alice", "project_465000001", "train")}
LOGGED_RUN = {"run_id": "0" * 32}
LESSON = {"code": "timeout", "language": "en"}


def administrators(answer: int) -> tuple[int, ...]:
    """Nobody but an administrator finds the administration."""
    return (302, *(404,) * 6, answer)


# What administrators may add and delete; they see every list.
ADMINISTERED = {
    "jobs_user": (403, NOT_EVEN_THERE),
    "jobs_project": (403, NOT_EVEN_THERE),
    "jobs_membership": (200, TO_THE_LIST),
    "jobs_grant": (200, TO_THE_LIST),
    "jobs_token": (403, NOT_EVEN_THERE),
    "jobs_auditentry": (403, NOT_EVEN_THERE),
    "jobs_workfailure": (403, NOT_EVEN_THERE),
    "jobs_unknownidentity": (403, NOT_EVEN_THERE),
}
NO_ROW = {"object_id": "0"}

# The name of an address -> what fills its parts, and what a GET answers to each of PEOPLE.
TABLE: dict[str, tuple[dict[str, object], tuple[int, ...]]] = {
    # Staff without jobs start on their own pages.
    "dashboard": ({}, (302, 200, 200, 200, 200, 302, 200, 302)),
    "sample-report": ({}, SIGNED_IN),
    "sample-figure": ({"name": "gpu_use"}, SIGNED_IN),
    "flags": ({}, SIGNED_IN),
    "answer-request": ({"pk": 1}, WRITE_ONLY),
    "history": ({}, SIGNED_IN),
    "queue": ({}, SIGNED_IN),
    "running": ({}, SIGNED_IN),
    "projects": ({}, SIGNED_IN),
    "project": ({"name": "project_465000001"}, (302, 404, 200, 200, 200, 404, 404, 404)),
    "grant-report": ({"name": "project_465000001"}, (302, 404, 200, 200, 200, 404, 404, 404)),
    # Where the site allows it: tests/portal/embed.
    "embed-last-jobs": ({}, (404,) * 8),
    # With a token of its own alone: tests/portal/feed.
    "reports-feed": ({}, COLLECTORS),
    "own-reports-feed": ({"secret": "kaiku_feed_none"}, (404,) * 8),
    "about": ({}, OPEN),
    "jobs-csv": ({}, SIGNED_IN),
    "sign-in": ({}, OPEN),
    "sign-in-start": ({}, (404,) * 8),
    "sign-in-callback": ({}, (404,) * 8),
    "back-channel-sign-out": ({}, WRITE_ONLY),
    "no-account": ({}, (302,) * 8),
    "sign-out": ({}, WRITE_ONLY),
    "my-jobs": ({}, SIGNED_IN),
    "save-filter": ({}, TO_THE_PAGE),
    "remove-filter": ({"pk": 1}, TO_THE_PAGE),
    "compare": ({}, SIGNED_IN),
    "work": (WORK, OF_THE_JOB),
    "experiments": ({}, SIGNED_IN),
    # Of experiments that there are: tests/portal/experiments and tests/portal/run.
    "experiment": ({"pk": 0}, NOT_FOUND),
    "experiment-table": ({"pk": 0, "name": "csv"}, NOT_FOUND),
    "compare-runs": ({"pk": 0}, NOT_FOUND),
    **{f"{name}-experiment": ({"pk": 0}, WRITE_ONLY) for name in ("rename", "share", "delete")},
    "run": (LOGGED_RUN, NOT_FOUND),
    "kept-text": (LOGGED_RUN | {"pk": 0}, NOT_FOUND),
    "delete-run": (LOGGED_RUN, WRITE_ONLY),
    "job": (JOB, OF_THE_JOB),
    "job-feedback": (JOB, TO_THE_PAGE),
    "job-note": (JOB, TO_THE_PAGE),
    "share-job": (JOB, TO_THE_PAGE),
    "end-share": (JOB, TO_THE_PAGE),
    "figure": (JOB | {"name": "gpu_use"}, OF_THE_JOB),
    "raw-window": (JOB, OF_THE_JOB),
    "learn": ({}, SIGNED_IN),
    "lesson": ({"code": "timeout"}, SIGNED_IN),
    "lessons": ({}, STAFF),
    "start-lesson": ({}, STAFF),
    "start-program": ({}, WRITE_ONLY),
    "edit-lesson": (LESSON, STAFF),
    "preview-lesson": (LESSON, WRITE_ONLY),
    "lesson-history": (LESSON, STAFF),
    "restore-lesson": (LESSON, WRITE_ONLY),
    "settings": ({}, SIGNED_IN),
    "appearance": ({}, SIGNED_IN),
    "api-tokens": ({}, SIGNED_IN),
    "revoke-api-token": ({"pk": 1}, TO_THE_PAGE),
    "early-settings": ({}, SIGNED_IN),
    "webhooks": ({}, SIGNED_IN),
    **{name: ({"pk": 1}, TO_THE_PAGE) for name in ("test-webhook", "renew-webhook")},
    **{name: ({"pk": 1}, TO_THE_PAGE) for name in ("switch-on-webhook", "remove-webhook")},
    "slurm-comments": ({}, SIGNED_IN),
    "device": ({}, SIGNED_IN),
    "site": ({}, SITE),
    "policy": ({}, POLICY),
    "public": ({}, OPEN),
    "support": ({}, STAFF),
    "system": ({}, administrators(200)),
    "support-queue": ({}, STAFF),
    # Of a case that staff do not see yet: tests/portal/support/test_queue.py.
    "support-case": ({"pk": 0}, (302, *(404,) * 7)),
    **{name: ({"pk": 0}, WRITE_ONLY) for name in ("change-case", "note-case", "offer-in-case", "request-in-case")},
    "help-letter": ({}, STAFF),
    "restore-letter": ({}, WRITE_ONLY),
    "directory-state": ({}, STAFF),
    "lesson-links": ({}, STAFF),
    "check-links": ({}, WRITE_ONLY),
    "shared-jobs": ({}, STAFF),
    "feedback-sums": ({}, STAFF),
    "advice-quality": ({}, STAFF),
    "outbox": ({}, STAFF),
    "opt-out": ({}, OPEN),
    "api-education": ({}, OPEN),
    "api-education-links": ({}, OPEN),
    "api-node-summaries": ({}, COLLECTORS),
    "api-job-records": ({}, COLLECTORS),
    "api-ingest-raw-samples": ({}, COLLECTORS),
    "api-jobs": ({}, API),
    "api-job": (JOB, API_OF_THE_JOB),
    # A person's latest job is theirs alone: the PI of the project gets none.
    "api-latest-job": ({}, (401, 404, 404, 200, 404, 404, 404, 404)),
    "api-check": ({}, (401, *(405,) * 7)),
    "api-platforms": ({}, API),
    "api-running": ({}, API),
    # Of a job that runs: tests/portal/running.
    "api-running-job": (JOB, API_NOT_FOUND),
    "api-insights": ({}, API),
    "api-hints": ({}, API),
    "api-works": ({}, API),
    "api-work": (WORK, API_OF_THE_JOB),
    "api-gpus": (JOB, API_OF_THE_JOB),
    "api-report": (JOB | {"name": "json"}, API_OF_THE_JOB),
    "api-raw-samples": (JOB, API_OF_THE_JOB),
    "api-job-performance": (JOB | {"name": "csv"}, API_OF_THE_JOB),
    # Of one's own runs alone: tests/portal/api/test_performance.py.
    "api-performance": ({"name": "csv"}, API),
    "learning-schema": ({}, OPEN),
    "performance-dictionary": ({}, OPEN),
    "api-device-authorization": ({}, WRITE_ONLY),
    "api-device-token": ({}, WRITE_ONLY),
    # With a token alone, also for those with a session.
    "api-device-revoke": ({}, COLLECTORS),
    "api-whoami": ({}, API),
    "api-experiments": ({}, API),
    # Of those that there are: tests/portal/api/test_experiments.py.
    **{
        name: ({"pk": 0}, API_NOT_FOUND)
        for name in ("api-experiment", "api-experiment-runs", "api-experiment-runs-csv")
    },
    **{f"api-run{end}": (LOGGED_RUN, API_NOT_FOUND) for end in ("", "-metrics", "-metrics-csv", "-artifacts")},
    "slurm-events": ({}, COLLECTORS),
    "api-project": ({"project": "project_465000001"}, (401, 404, 404, 404, 200, 404, 404, 404)),
    "api-grant-report": ({"project": "project_465000001", "name": "json"}, (401, 404, 200, 200, 200, 404, 404, 404)),
    "api-last-jobs": ({}, API),
    "api-policy": ({"name": "json"}, POLICY_API),
    # With a comment token alone, also for those with a session.
    "api-slurm-comments": ({}, COLLECTORS),
    "api-flags": ({}, POLICY_API),
    "api-policy-schema": ({"name": "flags"}, OPEN),
    "api-schema": ({}, OPEN),
    "api-docs": ({}, OPEN),
    # The page leads on to one that is not open; the rest is for clients with a token that logs runs.
    "mlflow": ({}, OPEN),
    "mlflow-tracking": ({"name": "runs/get"}, COLLECTORS),
    "mlflow-artifacts": ({}, COLLECTORS),
    "mlflow-unknown": ({"name": "version"}, COLLECTORS),
    "healthz": ({}, OPEN),
    "readyz": ({}, OPEN),
    # Not under the name that people know, however the request came.
    "metrics": ({}, (404,) * 8),
    "admin:index": ({}, administrators(200)),
    "admin:jsi18n": ({}, administrators(200)),
    "admin:app_list": ({"app_label": "jobs"}, administrators(200)),
    **{f"admin:{model}_changelist": ({}, administrators(200)) for model in ADMINISTERED},
    **{f"admin:{model}_add": ({}, administrators(add)) for model, (add, _) in ADMINISTERED.items()},
    **{f"admin:{model}_change": (NO_ROW, administrators(TO_THE_LIST)) for model in ADMINISTERED},
    **{f"admin:{model}_history": (NO_ROW, administrators(TO_THE_LIST)) for model in ADMINISTERED},
    **{f"admin:{model}_delete": (NO_ROW, administrators(delete)) for model, (_, delete) in ADMINISTERED.items()},
}


def names(patterns: list[URLPattern | URLResolver], namespace: str = "") -> Iterator[str]:
    """The name of each address below these patterns; without one are Django's ways back to a named one."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else namespace)
        elif pattern.name or not namespace:
            yield f"{namespace}{pattern.name}"


def test_every_address_is_in_the_table() -> None:
    assert set(names(get_resolver().url_patterns)) == set(TABLE)


@pytest.fixture
def clients(cast, reported, settings) -> dict[str, Client]:
    settings.ANONYMOUS_API_CALLS_PER_MINUTE = 10_000  # all of them come from one address
    settings.RAW_ON_PAGE = settings.PUBLIC_PAGE = settings.SLURM_COMMENTS = True
    reported()
    record_raw_window(raw_payload())
    call_command("seed_lessons", verbosity=0)
    return {"nobody": Client(), **{person: cast(name) for person, name in NAMES.items()}}


def address(name: str, owner: User) -> str:
    """The path of an address; the signed one is the job's owner's."""
    if name == "opt-out":
        return urlsplit(opt_out_address(owner)).path
    return reverse(name, kwargs=TABLE[name][0])


def test_each_person_gets_what_the_table_says(clients) -> None:
    owner = User.objects.get(username="alice")
    seen = {name: tuple(clients[person].get(address(name, owner)).status_code for person in PEOPLE) for name in TABLE}
    assert seen == {name: statuses for name, (_, statuses) in TABLE.items()}


@pytest.mark.one_database
def test_no_other_verb_opens_anything_without_the_token_of_a_form(clients) -> None:
    """Only the signed address of a mail takes a POST from elsewhere; whoever is not signed in may be sent to do so.

    The sign-in of programs is open, and answers what is no request of it in its own form.
    """
    owner = User.objects.get(username="alice")
    for client in clients.values():
        client.handler.enforce_csrf_checks = True
    opened = {
        (name, person, verb, answer.status_code)
        for name in TABLE
        for person in PEOPLE
        for verb in VERBS
        if not is_refused(answer := getattr(clients[person], verb)(address(name, owner)))
    }
    of_programs = ("api-device-authorization", "api-device-token")
    assert opened == {("opt-out", person, "post", 200) for person in PEOPLE} | {
        (name, person, "post", 400) for name in of_programs for person in PEOPLE
    }


def is_refused(answer: HttpResponse) -> bool:
    is_sent_to_sign_in = answer.status_code == 302 and answer["Location"].startswith("/sign-in/")
    return is_sent_to_sign_in or answer.status_code in (401, 403, 404, 405, 415)
