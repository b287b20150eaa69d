"""Reading early words for the channels: which hold, whose they are, and what their reader chose."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.early.findings import EarlyCode
from analysis.models import EarlyWord, RunningRun
from analysis.rollups.selectors import site_zone
from jobs.models import Job, QueuedJob, User
from jobs.queue.selectors import fresh_since, readings
from reports.early.models import EarlyChoice, MailedWord
from reports.early.planning import TOLD_FOR, OpenWord, PastMail
from reports.mail.digest import Frequency
from reports.models import Delivery, DeliveryPreference, Notice

CONFIRMED_WITHIN = timedelta(hours=3)
"""Nodes send each hour: what two of these did not confirm may be over, for example because a node went silent."""


def early_choice(user: User) -> EarlyChoice:
    """What a person chose; a row that is not stored, with nothing switched on, where they chose nothing."""
    return EarlyChoice.objects.filter(user=user).first() or EarlyChoice(user=user)


def zone_of(user: User) -> tzinfo:
    """The time zone that a person chose, else the site's."""
    return ZoneInfo(user.time_zone) if user.time_zone else site_zone()


def holding_words(now: datetime) -> QuerySet[EarlyWord]:
    """The words that hold now, of jobs that a queue read lately lists as running, and that this version has a text for.

    The record of an ended job often arrives before the queue is read again, so it counts as well. None was found before
    the oldest of these jobs started: without this bound all words that ever were are read.
    """
    since = RunningRun.objects.aggregate(since=Min("started_at"))["since"]
    if since is None:
        return EarlyWord.objects.none()
    watched = RunningRun.objects.filter(
        cluster=OuterRef("cluster"), job_id=OuterRef("job_id"), attempt=OuterRef("attempt")
    )
    lately = readings().filter(cluster=OuterRef("cluster"), read_at__gte=fresh_since(now))
    running = (Exists(_queued()), Exists(watched), Exists(lately), ~Exists(_ended()))
    return EarlyWord.objects.filter(*running, found_at__gte=since, over_at=None, code__in=EarlyCode)


def _queued() -> QuerySet[QueuedJob]:
    """The running job of a word."""
    return QueuedJob.objects.filter(
        cluster=OuterRef("cluster"),
        job_id=OuterRef("job_id"),
        # After a requeue the job starts anew: what was found of the attempt before is over.
        started_at=OuterRef("started_at"),
        state=QueuedJob.State.RUNNING,
    )


def _ended() -> QuerySet[Job]:
    """The record with the end of a word's run, or of a later one: by the key of records."""
    return Job.objects.filter(
        cluster=OuterRef("cluster"),
        job_id=OuterRef("job_id"),
        attempt__gte=OuterRef("attempt"),
        ended_at__gte=OuterRef("started_at"),
    )


def words_to_mail(now: datetime) -> QuerySet[EarlyWord]:
    """The words to state that are in no message yet, of people who want mail about running jobs and can get any."""
    wants = EarlyChoice.objects.filter(user=OuterRef("user"), by_mail=True)
    refuses = DeliveryPreference.objects.filter(user=OuterRef("user"), frequency=Frequency.OFF.value)
    is_there = Q(user__is_active=True) & ~Q(user__email="") & ~Exists(refuses)
    return confirmed_words(now).filter(is_there, Exists(wants), mailed=None).order_by("found_at", "pk")


def open_words(words: QuerySet[EarlyWord]) -> list[OpenWord]:
    """The same as values, each with the number of its array, or of its job where it is in none."""
    work = Coalesce(Subquery(_queued().values("array_job_id")[:1]), F("job_id"))
    rows = words.annotate(work=work).values_list("pk", "cluster", "work", "code")
    return [OpenWord(pk, (cluster, work), code) for pk, cluster, work, code in rows]


def past_mail(user: User, now: datetime) -> PastMail:
    """What messages about running jobs a person has, waiting or of the last day: one query."""
    lately = Q(delivery__created_at__gte=now - TOLD_FOR)
    is_open = Q(delivery__state__in=(Delivery.State.PENDING, Delivery.State.SENDING))
    rows = MailedWord.objects.filter(lately | is_open, delivery__user=user).exclude(
        delivery__state=Delivery.State.SUPPRESSED
    )
    zone, waiting, in_doubt, told, due_at = zone_of(user), None, set(), set(), {}
    for row in rows.select_related("delivery", "word").order_by("delivery"):
        about = ((row.word.cluster, row.work), row.word.code)
        due_at[row.delivery_id] = row.delivery.due_at
        if row.delivery.state == Delivery.State.PENDING:
            waiting = row.delivery_id
        elif row.delivery.state == Delivery.State.SENDING:
            in_doubt.add(about)
        else:
            told.add(about)
    days = Counter(at.astimezone(zone).date() for at in due_at.values())
    return PastMail(waiting, in_doubt, told, days)


def confirmed_words(now: datetime) -> QuerySet[EarlyWord]:
    """The holding words that were looked at lately enough to be stated now."""
    return holding_words(now).filter(held_at__gte=now - CONFIRMED_WITHIN)


def words_in(delivery: Delivery, now: datetime) -> QuerySet[EarlyWord]:
    """The words of a message that can be stated now, the first found first."""
    rows = confirmed_words(now).filter(mailed__delivery=delivery)
    return rows.select_related("user", "project").order_by("found_at", "pk")


def feed_words(user: User, limit: int) -> QuerySet[EarlyWord]:
    """The latest words about a person's own jobs."""
    return (
        EarlyWord.objects.filter(user=user, code__in=EarlyCode)
        .select_related("user", "project")
        .order_by("-found_at", "-pk")[:limit]
    )


def job_ends(words: Sequence[EarlyWord]) -> dict[int, datetime]:
    """When the jobs of these words ended, by the words' keys; without those that run or have no record yet."""
    shown = EarlyWord.objects.filter(pk__in=[word.pk for word in words])
    first = _ended().order_by("attempt", "ended_at").values("ended_at")[:1]
    rows = shown.annotate(ended_at=Subquery(first)).filter(ended_at__isnull=False)
    return dict(rows.values_list("pk", "ended_at"))


def unsure_words(words: Sequence[EarlyWord], now: datetime) -> set[int]:
    """Which of these words cannot be stated now, by their keys: their jobs may have ended, or they may be over."""
    pks = {word.pk for word in words}
    return pks - set(confirmed_words(now).filter(pk__in=pks).values_list("pk", flat=True))


def people_to_mail(now: datetime) -> list[int]:
    """Who has words that are in no message yet; last those who had most messages within a day, whose words may wait."""
    people = set(words_to_mail(now).order_by().values_list("user", flat=True))
    mails = Delivery.objects.filter(user__in=people, created_at__gte=now - TOLD_FOR, notice__kind=Notice.Kind.EARLY)
    had = Counter(mails.values_list("user", flat=True))
    return sorted(people, key=lambda pk: (had[pk], pk))


def still_to_mail(user_pks: Collection[int], now: datetime) -> list[int]:
    """Which of these people, in their order, still have such words."""
    left = set(people_to_mail(now))
    return [pk for pk in user_pks if pk in left]
