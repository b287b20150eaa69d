"""What the log says in either format: with the request or task it belongs to, and of no person whatever happens."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from analysis.services import analyse_due
from jobs.imports.services import import_directory
from jobs.models import User, WorkFailure
from jobs.tokens.services import issue_token
from jobs.work_queue.services import Work, attempt
from portal import logs
from portal.logs import JsonLine, PlainLine, during_request, during_task, take_over
from portal.steps import guard
from portal.steps.step import Step
from reports.mail.services.sending import send_due
from reports.models import Delivery
from tests.analysis.poison import runs_with_poison
from tests.mail_server import HOST, mail_server
from tests.payloads import record, summary
from tests.portal.conftest import PASSWORD
from tests.tokens import create_collector_token

NAME, ADDRESS, HOST_OF_A_PERSON, WORD = "zoraida", "zoraida@users.example", "203.0.113.77", "hidden-words"
SUMMARIES, RECORDS = "/api/v1/ingest/node-summaries", "/api/v1/ingest/job-records"


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


def a_record(message: str, *arguments: object, name: str = "portal.somewhere", **more: object) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.WARNING, "x.py", 1, message, arguments, None)
    made.__dict__ |= more
    return made


def a_failure(error: Exception) -> logging.LogRecord:
    return a_record("it failed", exc_info=(type(error), error, error.__traceback__))


def in_json(made: logging.LogRecord) -> dict[str, str]:
    return json.loads(JsonLine().format(made))


@pytest.fixture
def written() -> Iterator[Callable[[], list[str]]]:
    """All lines since the test began, in both formats."""
    streams = {formatter: io.StringIO() for formatter in (PlainLine(), JsonLine())}
    handlers = [logging.StreamHandler(stream) for stream in streams.values()]
    for handler, formatter in zip(handlers, streams, strict=True):
        handler.setFormatter(formatter)
        logging.getLogger().addHandler(handler)
    yield lambda: [line for stream in streams.values() for line in stream.getvalue().splitlines()]
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


def json_lines(lines: list[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in lines if line.startswith("{")]


class TestALine:
    def test_in_json_it_is_one_object_with_the_instant_in_utc(self) -> None:
        made = a_record("a %s of\ntwo lines", "message")
        made.created = datetime(2026, 11, 20, 12, 30, 0, 250_000, tzinfo=UTC).timestamp()
        assert JsonLine().format(made) == (
            '{"time": "2026-11-20T12:30:00.250Z", "level": "WARNING", "logger": "portal.somewhere",'
            ' "message": "a message of\\ntwo lines"}'
        )

    def test_nobody_writes_lines_of_their_own(self) -> None:
        forged = "x\n2026-11-20 ERROR portal: forged\r\x1b[2J\u2028"
        assert len(PlainLine().format(a_record("said %s", forged)).splitlines()) == 1
        assert JsonLine().format(a_record("said %s", forged)).isprintable()

    def test_it_names_its_request_and_its_task(self) -> None:
        with during_request("") as request_id, during_task("analysis"):
            plain, said = PlainLine().format(a_record("m")), in_json(a_record("m"))
        assert said["request_id"] == request_id
        assert (said["task"], len(said["task_id"])) == ("analysis", 32)
        assert plain.endswith(
            f"WARNING portal.somewhere [request {request_id}] [task analysis {said['task_id']}]: m",
        )
        assert "request" not in PlainLine().format(a_record("m"))

    def test_a_celery_task_is_named_where_its_worker_speaks_of_it(self) -> None:
        about = {"id": "8f2c", "name": "portal.tasks.follow_up", "args": f"('{NAME}',)", "return_value": repr(NAME)}
        made = a_record("Task %(name)s[%(id)s] succeeded: %(return_value)s", about, name="celery.app.trace", data=about)
        assert (in_json(made)["task"], in_json(made)["task_id"]) == ("portal.tasks.follow_up", "8f2c")
        assert NAME not in JsonLine().format(made)

    def test_what_a_celery_task_raised_is_its_type(self) -> None:
        about = {"id": "8f2c", "name": "t", "exc": f"ValueError('{NAME}')", "traceback": NAME, "description": "raised"}
        made = a_record("Task %(name)s %(description)s: %(exc)s", about, name="celery.app.trace", data=about)
        assert in_json(made)["message"] == "Task t raised: ValueError"

    def test_a_message_that_does_not_fit_its_arguments_is_written_without_them(self) -> None:
        assert in_json(a_record("%d jobs", NAME))["message"] == "%d jobs"


class TestAnError:
    def test_it_is_type_and_place_without_its_words(self) -> None:
        said = in_json(a_failure(raised(ValueError(NAME), raised(KeyError(ADDRESS)))))
        assert said["error"] == "ValueError"
        assert said["place"].rpartition(":")[0].endswith("tests/portal/test_logs.py")
        assert said["traceback"].splitlines()[-1] == "ValueError"
        assert "KeyError" in said["traceback"]
        assert NAME not in str(said)
        assert NAME not in PlainLine().format(a_failure(raised(ValueError(NAME))))

    def test_its_place_is_the_last_line_of_ours(self) -> None:
        with pytest.raises(TypeError) as failed:
            during_request(None).__enter__()  # within `re`
        assert in_json(a_failure(failed.value))["place"].startswith("portal/logs.py:")

    def test_a_database_that_is_away_says_so_in_its_first_line(self) -> None:
        error = raised(OperationalError(f"connection refused\nDETAIL: Key (username)=({NAME})"))
        assert in_json(a_failure(error))["traceback"].endswith("OperationalError: connection refused")
        message = in_json(a_record("%s: %s", "database unreachable", error))["message"]
        assert message == "database unreachable: django.db.utils.OperationalError: connection refused"

    @pytest.mark.django_db
    def test_a_row_that_a_database_refuses_is_not_quoted(self) -> None:
        User.objects.create(username=NAME)
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            User.objects.create(username=NAME)
        for made in (a_failure(refused.value), a_record("failed: %s", refused.value), a_record("%r", refused.value)):
            assert NAME not in JsonLine().format(made) + PlainLine().format(made)

    def test_one_that_ends_a_thread_is_written_like_all_others(self, written) -> None:
        before = threading.excepthook
        take_over(is_json=False)
        try:
            thread = threading.Thread(target=lambda: int(NAME), daemon=True)
            thread.start()
            thread.join()
        finally:
            threading.excepthook = before
        (line,) = json_lines(written())
        assert (line["message"], line["error"]) == ("a thread ended", "ValueError")
        assert NAME not in str(written())

    def test_in_json_so_are_the_end_of_a_process_and_warnings(self, written, monkeypatch) -> None:
        monkeypatch.setattr(threading, "excepthook", threading.excepthook)
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        take_over(is_json=True)
        try:
            sys.excepthook(ValueError, ValueError(NAME), None)
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                logging.captureWarnings(True)
                warnings.warn("too old", DeprecationWarning, stacklevel=1)
        finally:
            logging.captureWarnings(False)
        ended, warned = json_lines(written())
        assert (ended["message"], ended["error"]) == ("the process ended", "ValueError")
        assert warned["message"].endswith("DeprecationWarning: too old")


class TestWhatLibrariesSay:
    @pytest.mark.parametrize(
        ("said", "written"),
        [
            (f"Retrying after error: /token?code={WORD}&state=x", "Retrying after error: /token[…]"),
            (f"to {ADDRESS} from {HOST_OF_A_PERSON}", "to […] from […]"),
            ("from 2001:db8::17", "from […]"),
            ("Bearer abc.def", "Bearer […]"),
            ("kaiku_pat_abcDEF-12 and kaiku_run_x", "[…] and […]"),
            (f"first line\nsecond with {NAME}", "first line"),
        ],
    )
    def test_one_line_of_it_without_what_looks_like_a_person_or_a_secret(self, said: str, written: str) -> None:
        assert in_json(a_record(said, name="urllib3.connectionpool"))["message"] == written

    def test_a_host_of_the_site_is_named(self) -> None:
        made = a_record("Cannot connect to redis://user:secret@10.0.0.5:6379/0", name="celery.worker.consumer")
        assert in_json(made)["message"] == "Cannot connect to redis://[…]@10.0.0.5:6379/0"

    def test_a_worker_is_named(self) -> None:
        assert in_json(a_record("celery@gpu1.hpc.example ready.", name="celery.apps.worker"))["message"] == (
            "celery@gpu1.hpc.example ready."
        )

    def test_their_every_step_is_not_written_even_at_the_level_of_debugging(self, settings) -> None:
        assert logging.getLogger("urllib3").getEffectiveLevel() == logging.INFO
        assert not logging.getLogger("django").handlers

    def test_of_a_request_the_pattern_of_its_address(self) -> None:
        found = SimpleNamespace(route="jobs/<str:cluster>/<int:job_id>/")
        request = SimpleNamespace(method="GET", resolver_match=found, request_id="4f")
        made = a_record(
            "%s: %s", "Not Found", f"/jobs/{NAME}/", name="django.request", request=request, status_code=404
        )
        assert in_json(made)["message"] == "404 Not Found: GET /jobs/<str:cluster>/<int:job_id>/"
        assert in_json(made)["request_id"] == "4f"
        request.method, request.resolver_match = NAME, None
        assert in_json(made)["message"] == "404 Not Found: another method an address without a page"


def drive_the_portal(cast: Callable[[str], Client], settings, tmp_path: Path) -> list[str]:
    """What goes wrong on a day, with names, addresses and secrets in it; answers these."""
    anyone, personal = Client(REMOTE_ADDR=HOST_OF_A_PERSON, raise_request_exception=False), cast("alice")
    anyone.post("/sign-in/", {"username": NAME, "password": f"{NAME}-password"})
    anyone.get(f"/{NAME}/", {"q": WORD})
    anyone.get("/about/", SERVER_NAME=f"{NAME}.example")
    Client(enforce_csrf_checks=True).post("/sign-out/", headers={"Origin": f"https://{NAME}.example"})
    personal.get("/jobs/", {"q": WORD})
    personal.get(f"/projects/{NAME}/", {"q": WORD})
    for method in (anyone.get, anyone.put):
        method(f"/mail/stop/{NAME}:{WORD}/")
    cast("grace").get("/admin/jobs/user/", {"password__startswith": WORD, "username": NAME})
    secrets = [issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now())]
    User.objects.filter(username="alice").update(is_active=False)
    secrets += [create_collector_token("nodes", "lumi"), "kaiku_pat_unknown-secret", "a-secret-of-nobody"]
    for secret in secrets:
        anyone.get("/api/v1/jobs/", {"q": WORD}, headers={"Authorization": f"Bearer {secret}"})
        sent = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {secret}"}}
        for path, document in (
            (SUMMARIES, summary(node=f"{NAME} {WORD}")),
            (RECORDS, record(user_id=f"{NAME} {WORD}")),
        ):
            anyone.post(path, [document | {f"{NAME}-{WORD}": NAME}], **sent)
            anyone.post(path, b'{"' + NAME.encode(), **sent)
            anyone.generic(NAME, path, "{}", **sent)
        anyone.post(SUMMARIES, "{}", content_type=f"text/{NAME}", headers=sent["headers"])
    runs_with_poison(6, 3)
    analyse_due(10, timezone.now())
    csv = tmp_path / "people.csv"
    csv.write_text(f"{NAME},{ADDRESS}\n")
    settings.DIRECTORY_SOURCE = str(csv)
    import_directory(timezone.now())
    return secrets


def mail_that_fails(settings) -> None:
    person = get_user_model().objects.create_user(NAME, email=ADDRESS, password=PASSWORD)
    then = timezone.now() - timedelta(minutes=1)
    settings.EMAIL_BACKEND = "reports.mail.emails.SmtpBackend"
    with mail_server() as post:
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = HOST, post.port, 60
        post.answers["RCPT"] = f"550 5.1.1 <{ADDRESS}>: {NAME} is unknown here"
        Delivery.objects.create(user=person, created_at=then, due_at=then)
        send_due(10, timezone.now())


@pytest.mark.django_db
def test_each_failed_try_of_work_is_told_with_its_frames_and_without_its_words(written) -> None:
    def step(key: int) -> int:
        raise ValueError(NAME) from KeyError(ADDRESS)

    attempt(Work("judgement", step, name=lambda key: f"lumi/{key}"), 901, timezone.now())
    error, lines = WorkFailure.objects.get().error, written()
    (said,) = json_lines(lines)
    assert said["message"] == f"judgement lumi/901 failed: {error}"
    assert lines[0].endswith(f"WARNING jobs.work_queue.services: judgement lumi/901 failed: {error}")
    for through in (said["traceback"].splitlines(), lines[:-1]):
        assert any(frame.endswith(", in step") for frame in through)
        assert through[-1] == "ValueError"
    assert [line for line in lines if NAME in line or ADDRESS in line] == []


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/jobs/", "/api/v1/jobs/", SUMMARIES])
def test_a_database_that_is_away_is_told_without_its_host_port_and_name(path, written, monkeypatch) -> None:
    words = 'connection to server at "db.site.example", port 5432 failed: database "kaiku"'

    def unreachable(*_: object) -> None:
        raise OperationalError(words)

    client = Client(headers={"Authorization": "Bearer kaiku_pat_some-secret"})
    client.cookies["sessionid"] = "a" * 32
    monkeypatch.setattr(connection, "cursor", unreachable)
    given = {"data": "{}", "content_type": "application/json"} if path == SUMMARIES else {}
    answer = (client.post if given else client.get)(path, **given)
    lines = written()
    assert answer.status_code == 503
    assert "database unreachable: django.db.utils.OperationalError" in [said["message"] for said in json_lines(lines)]
    assert [line for line in lines if "db.site" in line or "5432" in line] == []


@pytest.mark.django_db
def test_a_day_of_trouble_names_nobody(cast, settings, tmp_path: Path, written, monkeypatch) -> None:
    monkeypatch.setattr("reports.mail.services.sending.is_telling", lambda rows: True)
    secrets = drive_the_portal(cast, settings, tmp_path)
    mail_that_fails(settings)
    guard.run(Step("analysis", "Analysis", lambda *_: int(NAME), "STEP_SECONDS"), 1)
    lines = written()
    said = json_lines(lines)
    assert len(said) > 30
    told = {line["logger"] for line in said}
    assert {"django.request", "django.security.DisallowedHost", "django.security.csrf", "portal.ingest.door"} <= told
    assert {"jobs.work_queue.services", "jobs.imports.services", "portal.ingest.services"} <= told
    assert "reports.mail.services.sending" in told
    for word in (NAME, ADDRESS, HOST_OF_A_PERSON, WORD, "password", "alice", "train", *secrets):
        assert [line for line in lines if word in line] == [], word
    of_requests = [line for line in said if line["logger"].startswith(("django", "portal.ingest"))]
    assert {len(line["request_id"]) for line in of_requests} == {32}
    (failed,) = [line for line in said if line["logger"] == guard.__name__]
    assert (failed["task"], failed["error"]) == ("analysis", "ValueError")


def test_the_words_that_are_looked_for_would_be_found(written) -> None:
    logging.getLogger("portal.somewhere").warning("a job of %s", NAME)
    assert len([line for line in written() if NAME in line]) == 2


GIVEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.django_db
class TestTheNumberOfARequest:
    def test_it_is_in_the_head_of_every_answer(self, client: Client) -> None:
        heads = [client.get(path)["X-Request-ID"] for path in ("/about/", "/nothing/", "/jobs/", "/healthz")]
        heads.append(client.get("/about/", SERVER_NAME="evil.example")["X-Request-ID"])
        heads.append(client.post(SUMMARIES, "{}", content_type="application/json")["X-Request-ID"])
        assert len(set(heads)) == 6
        assert {len(number) for number in heads} == {32}

    def test_a_proxys_is_taken_where_there_is_one(self, client: Client, settings, written) -> None:
        assert client.get("/nothing/", headers={"X-Request-ID": GIVEN})["X-Request-ID"] != GIVEN
        settings.IS_BEHIND_PROXY = True
        assert client.get("/nothing/", headers={"X-Request-ID": GIVEN})["X-Request-ID"] == GIVEN
        assert json_lines(written())[-1]["request_id"] == GIVEN

    @pytest.mark.parametrize(
        "given", ["", "short", NAME * 4, "g" * 32, "0" * 65, f"{GIVEN}\n", "-" * 32, HOST_OF_A_PERSON]
    )
    def test_one_that_is_not_well_formed_is_replaced(self, client: Client, settings, given: str) -> None:
        settings.IS_BEHIND_PROXY = True
        answer = client.get("/about/", HTTP_X_REQUEST_ID=given)["X-Request-ID"]
        assert logs.REQUEST_ID.fullmatch(answer)
        assert answer != given
