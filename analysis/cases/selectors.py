"""Reading the support queue: what staff see of it, and what the owner of a flag is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min, Q, QuerySet

from analysis.cases.models import CaseEvent, ShareRequest, SupportCase
from analysis.cases.states import CLOSED, State
from analysis.escalation.models import Flag
from analysis.escalation.selectors import staff_sees
from jobs.models import JobShare, User
from jobs.selectors import open_shares

WEEK = timedelta(days=7)
PAUSE_AFTER_NO = timedelta(days=30)
"""Nobody is asked to share jobs again so soon after a no."""

IS_CLOSED = Q(state__in=CLOSED)


def cases_for_staff(now: datetime) -> QuerySet[SupportCase]:
    """The cases of flags whose time of grace is over, with what a page shows of each; in no order of hours."""
    cases = SupportCase.objects.filter(staff_sees(now, "flag__")).select_related(
        "flag__user", "flag__project", "holder"
    )
    return cases.order_by("flag__visible_to_staff_at", "pk")


def in_state(cases: QuerySet[SupportCase], state: State | None) -> QuerySet[SupportCase]:
    """Those of one state; without one those that are not closed."""
    return cases.exclude(IS_CLOSED) if state is None else cases.filter(state=state)


def queue_by_state(now: datetime) -> dict[State, tuple[int, datetime | None]]:
    """How many cases are in each state, and since when staff see the oldest of them; in the order of the states."""
    rows = cases_for_staff(now).order_by().values_list("state")
    found = {state: rest for state, *rest in rows.annotate(Count("pk"), Min("flag__visible_to_staff_at"))}
    return {state: tuple(found.get(state.value, (0, None))) for state in State}


def counts_by_state(now: datetime) -> dict[State, int]:
    """How many cases are in each state, in the order of the states."""
    return {state: count for state, (count, _) in queue_by_state(now).items()}


def events_of(case: SupportCase) -> QuerySet[CaseEvent]:
    """What happened to a case, the latest first."""
    return CaseEvent.objects.filter(case=case).select_related("actor").order_by("-at", "-pk")


def steps_of(flags: Sequence[Flag]) -> dict[int, list[CaseEvent]]:
    """What support did about these flags, by flag, the earliest first: for whom the flag concerns, so without notes.

    What follows from a step by itself is left out; a case that closes because its flag cleared is not.
    """
    of_kaiku = Q(kind=CaseEvent.Kind.STATE, actor__isnull=True) & ~IS_CLOSED
    events = CaseEvent.objects.filter(case__flag__in=flags).exclude(kind=CaseEvent.Kind.NOTE).exclude(of_kaiku)
    found: dict[int, list[CaseEvent]] = {}
    for event in events.select_related("actor", "case").order_by("at", "pk"):
        found.setdefault(event.case.flag_id, []).append(event)
    return found


def cases_of_owner(case: SupportCase) -> QuerySet[SupportCase]:
    """The cases of the same person, this one among them; of a project this one alone."""
    if case.flag.user_id is None:
        return SupportCase.objects.filter(pk=case.pk)
    return SupportCase.objects.filter(flag__user=case.flag.user_id)


def open_request(case: SupportCase) -> ShareRequest | None:
    """The request to share jobs that the owner has not answered, in this or another case of theirs."""
    return ShareRequest.objects.filter(case__in=cases_of_owner(case), answered_at__isnull=True).first()


def last_answer(case: SupportCase) -> ShareRequest | None:
    """The latest answer of the owner to a request to share jobs."""
    answered = ShareRequest.objects.filter(case=case, answered_at__isnull=False)
    return answered.exclude(answer=ShareRequest.Answer.WITHDRAWN).order_by("-answered_at").first()


def paused_until(flag: Flag, now: datetime) -> datetime | None:
    """When the owner of a flag may be asked again to share jobs; None for at once."""
    declined = ShareRequest.objects.filter(case__flag__user=flag.user_id, answer=ShareRequest.Answer.DECLINED)
    latest: datetime | None = declined.aggregate(at=Max("answered_at"))["at"]
    until = latest + PAUSE_AFTER_NO if latest else None
    return until if until and until > now else None


def requests_ever_to(user: User) -> QuerySet[ShareRequest]:
    """The requests to this person, answered or not."""
    return ShareRequest.objects.filter(case__flag__user=user)


def requests_to(user: User) -> QuerySet[ShareRequest]:
    """The requests that this person has not answered, the latest first."""
    rows = requests_ever_to(user).filter(answered_at__isnull=True)
    return rows.select_related("case__flag", "asked_by").order_by("-asked_at", "-pk")


def shares_of_owner(case: SupportCase, now: datetime) -> QuerySet[JobShare]:
    """The jobs that the owner of a flag shares with support now; none of a project."""
    return open_shares(now).filter(job__user__isnull=False, job__user=case.flag.user_id)


@dataclass(frozen=True)
class QueueSummary:
    """The support queue in numbers: `new` and `closed` count the last seven days, `oldest` is since when staff see the
    oldest case that is not closed.

    No sum over cases: two sums would differ by the figures of one, and flags of a person, a work and a project count
    the same jobs.
    """

    states: dict[State, int]
    new: int
    closed: int
    oldest: datetime | None

    @property
    def open(self) -> int:
        """The cases that nobody claimed."""
        return self.states[State.OPEN]

    @property
    def not_closed(self) -> int:
        return sum(count for state, count in self.states.items() if state not in CLOSED)


def queue_summary(now: datetime) -> QueueSummary:
    """The support queue as staff see it: two queries."""
    cases, since = cases_for_staff(now).order_by(), now - WEEK
    week = cases.aggregate(
        new=Count("pk", filter=Q(flag__visible_to_staff_at__gt=since)),
        closed=Count("pk", filter=IS_CLOSED & Q(changed_at__gt=since)),
        oldest=Min("flag__visible_to_staff_at", filter=~IS_CLOSED),
    )
    return QueueSummary(counts_by_state(now), **week)
