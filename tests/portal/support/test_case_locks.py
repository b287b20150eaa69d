"""Two who act on cases of one person at the same moment: neither waits for ever, and the second reads of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.utils import timezone

from analysis.cases.services import (
    NotPossible,
    change_state,
    decline_sharing,
    record_offer,
    request_sharing,
    share_requested,
)
from analysis.cases.states import Action
from analysis.escalation.selectors import runs_to_share
from analysis.models import ShareRequest, SupportCase
from jobs.models import JobShare, User
from portal.pages.flags import views

pytestmark = pytest.mark.django_db

WAIT_S = 20


@pytest.fixture
def asked(flagged) -> ShareRequest:
    """Erin asks alice to share jobs."""
    case = SupportCase.objects.select_related("flag").get(flag__kind="user")
    request_sharing(case, case.version, User.objects.get(username="erin"), timezone.now())
    return ShareRequest.objects.select_related("case__flag").get()


def decline(request: ShareRequest) -> int:
    return int(decline_sharing(request, timezone.now()))


def share(request: ShareRequest) -> int:
    now = timezone.now()
    return share_requested(request, [row.job for row in runs_to_share(request.case.flag, now, 3)], now)


def ask(case: SupportCase, by: str) -> SupportCase:
    return request_sharing(case, case.version, User.objects.get(username=by), timezone.now())


def offer(case: SupportCase, by: str) -> SupportCase:
    return record_offer(case, case.version, User.objects.get(username=by), timezone.now(), "alice")


def in_thread(step: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A thread to start, and where its one outcome, or error, will be."""
    outcomes: list[object] = []

    def run() -> None:
        try:
            outcomes.append(step())
        except Exception as error:
            outcomes.append(error)
        finally:
            connection.close()

    return threading.Thread(target=run, daemon=True), outcomes


def until_someone_waits() -> None:
    """Until a statement of another connection waits for a lock."""
    end = time.monotonic() + WAIT_S
    with connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waited")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answer", [decline, share])
def test_an_answer_waits_for_who_closes_the_case_and_then_changes_nothing(cast, asked, answer: Callable) -> None:
    thread, outcomes = in_thread(lambda: answer(asked))
    erin = User.objects.get(username="erin")
    with transaction.atomic():
        case = SupportCase.objects.select_for_update().get(pk=asked.case_id)
        thread.start()
        until_someone_waits()
        # Closing withdraws the request: where the answer held that row already, each would wait for the other.
        change_state(case, Action.RESOLVE, case.version, erin, timezone.now())
    thread.join(WAIT_S)
    assert outcomes == [0]
    assert ShareRequest.objects.get().answer == "withdrawn"
    assert not JobShare.objects.exists()
    assert not SupportCase.objects.get(pk=asked.case_id).events.filter(kind="answer").exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", [ask, offer], ids=["ask", "offer"])
def test_of_two_who_write_to_one_person_by_two_cases_at_the_same_moment_one_does(cast, flagged, step: Callable) -> None:
    cases = {kind: SupportCase.objects.select_related("flag").get(flag__kind=kind) for kind in ("user", "work")}
    thread, outcomes = in_thread(lambda: step(cases["work"], "grace"))
    with transaction.atomic():
        step(cases["user"], "erin")
        thread.start()
        until_someone_waits()
    thread.join(WAIT_S)
    assert [type(outcome) for outcome in outcomes] == [NotPossible]
    assert SupportCase.objects.get(flag__kind="work").state == "open"


@pytest.mark.parametrize("sent", ["share", "decline"])
def test_the_second_of_two_answers_reads_that_the_request_is_closed(cast, asked, monkeypatch, sent: str) -> None:
    alice = cast("alice")
    jobs = [row.job_id for row in runs_to_share(asked.case.flag, timezone.now(), 3)]

    def after_another(answered: Callable) -> Callable:
        """What happens where another tab declines between the check of the page and the answer."""
        return lambda request, *rest: (decline(request), answered(request, *rest))[1]

    for name in ("share_requested", "decline_sharing"):
        monkeypatch.setattr(views, name, after_another(getattr(views, name)))
    answer = alice.post(f"/flags/requests/{asked.pk}/", {"answer": sent, "job": jobs}, follow=True)
    content = answer.content.decode()
    assert "This request is no longer open: it was answered, or support withdrew it." in content
    assert "Nothing is shared. Support can see" not in content
    assert not JobShare.objects.exists()
