"""Changing cases of the support queue; two people who change one at the same time notice it, and nothing is lost.

Every change holds the case first and what belongs to it afterwards, so that no two of them wait for each other.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from analysis.cases.models import CaseEvent, ShareRequest, SupportCase
from analysis.cases.selectors import PAUSE_AFTER_NO, cases_of_owner, open_request, paused_until
from analysis.cases.states import CLOSED, Action, State, after
from analysis.escalation.models import Flag
from jobs.audit.services import Action as Audited
from jobs.audit.services import Kind, by_person, record_change
from jobs.models import Job, User
from jobs.services import share_job

SHARED_DAYS = 14
SHARED_JOBS_MAX = 3
"""How many jobs one request is about: enough to see what they have in common, few enough to be looked through."""

PAUSE_AFTER_OFFER = timedelta(days=7)
"""Nobody is offered help again so soon, in whichever case."""

SHARED_NOTE = "Shared after support requested it."


class CaseConflict(Exception):
    """Somebody changed the case since the page was opened; nothing was stored. `case` is how it is now."""

    def __init__(self, case: SupportCase) -> None:
        super().__init__(f"{case} was changed in the meantime")
        self.case = case


class NotPossible(Exception):
    """The case does not allow this; the message states why."""


def open_case(flag: Flag, now: datetime) -> None:
    """The case of a flag that was raised; staff see it once the flag's time of grace is over."""
    case = SupportCase.objects.create(flag=flag, state=State.OPEN, changed_at=now)
    _add_event(case, CaseEvent.Kind.STATE, None, now)


def close_case(flag: Flag, now: datetime) -> None:
    """The flag cleared: its case is resolved unless staff closed it, and what was requested is withdrawn."""
    case = SupportCase.objects.filter(flag=flag).select_for_update().first()
    if case is None:
        return
    _withdraw_request(case, None, now)
    if case.state not in CLOSED:
        case.version += 1
        _move(case, State.RESOLVED, None, now, "The flag cleared.")


def change_state(case: SupportCase, action: Action, based_on: int, by: User, now: datetime) -> SupportCase:
    """Do something to a case as its version `based_on` was. Raises CaseConflict and NotPossible."""
    with transaction.atomic():
        held = _claimed(case, based_on)
        state = after(State(held.state), action)
        if state is None:
            raise NotPossible(f"A case that is {State(held.state).label.lower()} cannot be changed like this.")
        if action is Action.REOPEN and held.flag.cleared_at is not None:
            raise NotPossible("The flag has cleared, so the case stays closed.")
        if action is Action.CLAIM and held.holder_id == by.pk:
            raise NotPossible("You have claimed this case already.")
        text = "Taken over." if action is Action.CLAIM and held.holder_id else ""
        if action in (Action.CLAIM, Action.REOPEN):
            held.holder = by
        elif action is Action.RELEASE:
            held.holder = None
        if state in CLOSED:
            _withdraw_request(held, by, now)
        _move(held, state, by, now, text)
        record_change(by_person(by), Audited.CASE_CHANGED, Kind.CASE, held, f"{action.value}: {state.value}")
    return held


def _withdraw_request(case: SupportCase, by: User | None, now: datetime) -> None:
    """What was requested of the owner of a closed case is no longer open."""
    asked = ShareRequest.objects.filter(case=case, answered_at__isnull=True)
    if asked.update(answer=ShareRequest.Answer.WITHDRAWN, answered_at=now):
        _add_event(case, CaseEvent.Kind.WITHDRAWN, by, now)


def add_note(case: SupportCase, text: str, by: User, now: datetime) -> None:
    """A note of staff; it changes nothing else, so nobody has to be asked."""
    with transaction.atomic():
        _add_event(case, CaseEvent.Kind.NOTE, by, now, text)
        record_change(by_person(by), Audited.CASE_CHANGED, Kind.CASE, case, "note")


def record_offer(case: SupportCase, based_on: int, by: User, now: datetime, names: str) -> SupportCase:
    """Help was offered by mail to these accounts: the case waits for the user. Raises CaseConflict and NotPossible."""
    with transaction.atomic():
        held = _for_the_user(case, based_on, by, now)
        offered = CaseEvent.objects.filter(kind=CaseEvent.Kind.OFFER, at__gt=now - PAUSE_AFTER_OFFER)
        if latest := offered.filter(case__in=cases_of_owner(held)).order_by("-at").first():
            raise NotPossible(f"Help was offered on {latest.at:%Y-%m-%d} already{_elsewhere(latest, held)}.")
        _add_event(held, CaseEvent.Kind.OFFER, by, now, f"To {names}.")
        _wait(held, by, now)
        record_change(by_person(by), Audited.HELP_OFFERED, Kind.CASE, held, names)
    return held


def request_sharing(case: SupportCase, based_on: int, by: User, now: datetime) -> SupportCase:
    """Ask the owner to share some jobs: the case waits for the answer. Raises CaseConflict and NotPossible."""
    if case.flag.user is None:
        raise NotPossible("A project has no single owner who could share its jobs.")
    if not case.flag.user.is_active:
        raise NotPossible("The account is closed, so nobody can answer.")
    with transaction.atomic():
        held = _for_the_user(case, based_on, by, now)
        if until := paused_until(case.flag, now):
            raise NotPossible(f"The owner shared nothing. A new request is possible from {until:%Y-%m-%d} on.")
        if asked := open_request(held):
            elsewhere = _elsewhere(asked, held)
            raise NotPossible(f"A request is open already{elsewhere}; the owner has not answered yet.")
        ShareRequest.objects.create(case=held, asked_by=by, asked_at=now)
        _add_event(held, CaseEvent.Kind.REQUEST, by, now)
        _wait(held, by, now)
        record_change(by_person(by), Audited.SHARING_REQUESTED, Kind.CASE, held)
    return held


def _elsewhere(found: CaseEvent | ShareRequest, case: SupportCase) -> str:
    """Where something happened, for who looks at `case` and sees nothing of it there."""
    return "" if found.case_id == case.pk else " in another case of this person"


def share_requested(request: ShareRequest, jobs: list[Job], now: datetime) -> int:
    """The owner shares these jobs with support; how many. Nothing where the request was answered already."""
    with transaction.atomic():
        if not _answer(request, ShareRequest.Answer.SHARED, now, jobs=len(jobs)):
            return 0
        for job in jobs:
            share_job(job, days=SHARED_DAYS, note=SHARED_NOTE, now=now)
    return len(jobs)


def decline_sharing(request: ShareRequest, now: datetime) -> bool:
    """The owner shares nothing; False where the request was answered already."""
    with transaction.atomic():
        return _answer(request, ShareRequest.Answer.DECLINED, now)


def _answer(request: ShareRequest, answer: ShareRequest.Answer, now: datetime, jobs: int = 0) -> bool:
    case = SupportCase.objects.select_for_update().filter(pk=request.case_id).first()
    mine = ShareRequest.objects.filter(pk=request.pk, answered_at__isnull=True)
    if case is None or not mine.update(answer=answer, answered_at=now, jobs=jobs):
        return False
    count = f"{jobs} {'job' if jobs == 1 else 'jobs'}"
    shared = f"{count} shared for {SHARED_DAYS} days."
    nothing = f"Nothing was shared. No new request before {now + PAUSE_AFTER_NO:%Y-%m-%d}."
    is_shared = answer is ShareRequest.Answer.SHARED
    _add_event(case, CaseEvent.Kind.ANSWER, case.flag.user, now, shared if is_shared else nothing)
    if case.state == State.WAITING:
        case.version += 1
        _move(case, State.CLAIMED if case.holder_id else State.OPEN, None, now, "The owner answered.")
    return True


def _for_the_user(case: SupportCase, based_on: int, by: User, now: datetime) -> SupportCase:
    """The case, claimed by who acts where nobody did, and the owner's others locked. Raises CaseConflict, NotPossible.

    All cases of a person in one order: what is limited for a person is decided by one of two who act at the same time.
    """
    list(cases_of_owner(case).select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    held = _claimed(case, based_on)
    if held.state in CLOSED:
        raise NotPossible("The case is closed. Reopen it first.")
    if held.holder is None:
        held.holder = by
        _move(held, State.CLAIMED, by, now)
    return held


def _wait(case: SupportCase, by: User, now: datetime) -> None:
    """The case waits for the user from now on."""
    if case.state != State.WAITING:
        _move(case, State.WAITING, by, now)


def _claimed(case: SupportCase, based_on: int) -> SupportCase:
    """The row for this change alone: the first of two who opened the same version gets it. Raises CaseConflict."""
    is_mine = SupportCase.objects.filter(pk=case.pk, version=based_on).update(version=F("version") + 1)
    now_there = SupportCase.objects.select_related("flag", "holder").get(pk=case.pk)
    if not is_mine:
        raise CaseConflict(now_there)
    return now_there


def _move(case: SupportCase, state: State, by: User | None, now: datetime, text: str = "") -> None:
    """Store a new state of a row that this transaction holds; it is a line of its own in the history."""
    case.state, case.changed_at = state, now
    case.save(update_fields=["state", "holder", "changed_at", "version"])
    _add_event(case, CaseEvent.Kind.STATE, by, now, text)


def _add_event(case: SupportCase, kind: CaseEvent.Kind, by: User | None, now: datetime, text: str = "") -> None:
    CaseEvent.objects.create(case=case, kind=kind, state=case.state, actor=by, text=text, at=now)
