"""Reading webhooks: whose they are, which words they get, and which of their deliveries are due."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet

from analysis.models import EarlyWord
from jobs.models import Membership, Project, User
from jobs.selectors import led_projects
from jobs.work_queue.outbox.selectors import due
from reports.early.models import EarlyChoice
from reports.early.planning import TOLD_FOR, PastMail
from reports.early.selectors import confirmed_words
from reports.models import Webhook, WebhookDelivery, WebhookWord
from reports.webhooks.rules import POST_LEASE, UNDER_WAY

LATELY = timedelta(days=1)


def visible_webhooks(user: User) -> QuerySet[Webhook]:
    """A person's own webhooks, and those of the projects that they lead."""
    mine = Q(owner=user) | Q(project__in=led_projects(user))
    return Webhook.objects.filter(mine).select_related("project", "owner").order_by("project__name", "name", "pk")


def own_webhooks(user: User, project: Project | None = None) -> QuerySet[Webhook]:
    """What counts against a limit: a person's own webhooks, or all of a project."""
    return Webhook.objects.filter(project=project) if project else Webhook.objects.filter(owner=user, project=None)


def working_webhooks() -> QuerySet[Webhook]:
    """The webhooks that may post: switched on, of an active person, and of a project while this person is its PI."""
    leads = Membership.objects.filter(user=OuterRef("owner"), project=OuterRef("project"), role=Membership.Role.PI)
    return Webhook.objects.filter(Q(project=None) | Exists(leads), off_at=None, owner__is_active=True)


def words_for(webhook: Webhook, now: datetime) -> QuerySet[EarlyWord]:
    """The words to state that a webhook may get: those of its owner's jobs, in a project also of members who agreed."""
    words = confirmed_words(now).filter(found_at__gte=webhook.since)
    if webhook.project_id is None:
        return words.filter(user=webhook.owner_id)
    agreed = EarlyChoice.objects.filter(user=OuterRef("user"), to_project=True)
    member = Membership.objects.filter(user=OuterRef("user"), project=OuterRef("project"))
    whose = Q(user=webhook.owner_id) | Exists(agreed)
    return words.filter(whose, Exists(member), project=webhook.project_id, user__is_active=True)


def new_words_for(webhook: Webhook, now: datetime) -> QuerySet[EarlyWord]:
    """Those that are in none of its deliveries yet, the first found first."""
    posted = WebhookWord.objects.filter(webhook=webhook, word=OuterRef("pk"))
    return words_for(webhook, now).exclude(Exists(posted)).order_by("found_at", "pk")


def webhooks_with_words(now: datetime) -> list[int]:
    """The working webhooks with words that are in none of their deliveries yet."""
    found = set(confirmed_words(now).order_by().values_list("user", "project"))
    if not found:
        return []
    mine = Q(project=None, owner__in={user for user, _ in found}) & Exists(_unposted(Q(user=OuterRef("owner")), now))
    agreed = EarlyChoice.objects.filter(user=OuterRef("user"), to_project=True)
    of_project = Q(Q(user=OuterRef("owner")) | Q(Exists(agreed)), project=OuterRef("project"))
    theirs = Q(project__in={project for _, project in found}) & Exists(_unposted(of_project, now))
    return list(working_webhooks().filter(mine | theirs).order_by("pk").values_list("pk", flat=True))


def _unposted(whose: Q, now: datetime) -> QuerySet[EarlyWord]:
    """The words of a webhook, which is the outer row, that it has not got."""
    posted = WebhookWord.objects.filter(webhook=OuterRef(OuterRef("pk")), word=OuterRef("pk"))
    return confirmed_words(now).filter(whose, found_at__gte=OuterRef("since")).exclude(Exists(posted))


def still_with_words(webhook_pks: Collection[int], now: datetime) -> list[int]:
    """Which of these webhooks, in their order, may still have words."""
    left = set(webhooks_with_words(now))
    return [pk for pk in webhook_pks if pk in left]


def past_posts(webhook: Webhook, now: datetime) -> PastMail:
    """What deliveries of a webhook wait, or were of the last day, in the words of planning: one query."""
    is_open = Q(delivery__state__in=(WebhookDelivery.State.PENDING, WebhookDelivery.State.SENDING))
    lately = Q(delivery__created_at__gte=now - TOLD_FOR) | is_open
    rows = WebhookWord.objects.filter(lately, webhook=webhook).exclude(delivery__state=WebhookDelivery.State.SUPPRESSED)
    waiting, in_doubt, told = None, set(), set()
    for row in rows.select_related("delivery", "word").order_by("delivery"):
        about = ((row.word.cluster, row.work), row.word.code)
        if row.delivery.state == WebhookDelivery.State.PENDING and not row.delivery.attempts:
            waiting = row.delivery_id
        elif row.delivery.state in (WebhookDelivery.State.PENDING, WebhookDelivery.State.SENDING):
            # One that was tried is left as it is: its receiver may have it already.
            in_doubt.add(about)
        else:
            told.add(about)
    return PastMail(waiting, in_doubt, told)


def words_waiting(delivery_pk: int | None) -> int:
    """How many words are in a delivery that waits; none without one."""
    return WebhookWord.objects.filter(delivery=delivery_pk).count() if delivery_pk else 0


def words_of(delivery: WebhookDelivery, now: datetime) -> QuerySet[EarlyWord]:
    """The words of a delivery that can be stated now and that its webhook may still get."""
    mine = WebhookWord.objects.filter(delivery=delivery, word=OuterRef("pk"))
    rows = words_for(delivery.webhook, now).filter(Exists(mine))
    return rows.select_related("user", "project").order_by("found_at", "pk")


def due_posts(now: datetime) -> QuerySet[WebhookDelivery]:
    """Deliveries that are due, and those whose worker held them for longer than a lease; the oldest first."""
    return due(WebhookDelivery.objects.all(), POST_LEASE, now)


def next_post(webhook: Webhook, now: datetime) -> WebhookDelivery | None:
    """The delivery of a webhook that is next: a test first, and nothing but a test in a pause."""
    posts = due_posts(now).filter(webhook=webhook)
    if webhook.paused_until and webhook.paused_until > now:
        posts = posts.filter(is_test=True)
    return posts.order_by("-is_test", "due_at", "pk").first()


def webhooks_to_try(now: datetime) -> QuerySet[Webhook]:
    """Webhooks with a due delivery that are not paused and that no worker posts to now, the longest untried first."""
    posts = due_posts(now).filter(webhook=OuterRef("pk"))
    posting = WebhookDelivery.objects.filter(
        webhook=OuterRef("pk"), state=WebhookDelivery.State.SENDING, claimed_at__gt=now - UNDER_WAY
    )
    is_open = Q(paused_until=None) | Q(paused_until__lte=now) | Exists(posts.filter(is_test=True))
    rows = Webhook.objects.filter(is_open, Exists(posts), ~Exists(posting))
    return rows.order_by(F("last_at").asc(nulls_first=True), "pk")


def failing_webhooks(now: datetime) -> tuple[int, datetime | None]:
    """How many webhooks have failed for longer than a day and are not switched off yet, and since when the first."""
    failing = Webhook.objects.filter(off_at=None, failing_since__lte=now - LATELY)
    return failing.count(), failing.aggregate(since=Min("failing_since"))["since"]


def webhook_states() -> Counter[tuple[str, str]]:
    """How many webhooks there are, by shape and state: `on`, `failing` or `off`."""
    found: Counter[tuple[str, str]] = Counter()
    for shape, failing_since, off_at in Webhook.objects.values_list("shape", "failing_since", "off_at"):
        found[shape, "off" if off_at else "failing" if failing_since else "on"] += 1
    return found


def webhook_name(webhook_pk: int) -> str:
    """A webhook in the log: its number, without name or address."""
    return f"webhook {webhook_pk}"
