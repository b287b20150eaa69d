"""Writing the data of sign-ins: counted attempts, sessions of the provider, spent logout tokens, unknown people.

Everything counted here is counted by the database in one statement, so that it is right for any number of processes
and with or without Redis.
"""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F

from jobs.audit.services import BY_PROVIDER
from jobs.expiry.services import sweep
from jobs.models import AttemptCount, ProviderSession, SpentLogoutToken, UnknownIdentity, User
from jobs.services import end_sessions


def take_attempt(key: str, *, most: int, window: timedelta, now: datetime) -> bool:
    """Take one of `most` attempts under this key, before it is tried; False when none is left until the window ends.

    A window begins with its first attempt. However many call at the same time, at most `most` get True.
    """
    sweep(AttemptCount.objects.filter(until__lte=now), "until")
    counts = AttemptCount.objects.filter(pk=key)
    AttemptCount.objects.bulk_create([AttemptCount(key=key, tries=0, until=now + window)], ignore_conflicts=True)
    counts.filter(until__lte=now).update(tries=0, until=now + window)
    return counts.filter(tries__lt=most).update(tries=F("tries") + 1) == 1


def give_back_attempt(key: str) -> None:
    """Give back an attempt that was taken."""
    AttemptCount.objects.filter(pk=key, tries__gt=0).update(tries=F("tries") - 1)


def sweep_sessions(now: datetime) -> None:
    """Delete some sessions that are over, at each sign-in more than it adds, because nothing else deletes them."""
    sweep(Session.objects.filter(expire_date__lt=now), "expire_date")


def remember_provider_session(user: User, *, sid: str, session_key: str, now: datetime, kept: timedelta) -> None:
    """Remember the provider's session (a digest) behind a session here; those older than `kept` have ended."""
    sweep(ProviderSession.objects.filter(began_at__lt=now - kept), "began_at")
    columns = {"sid": sid, "user": user, "began_at": now}
    ProviderSession.objects.update_or_create(session_key=session_key, defaults=columns)


def spend_logout_token(digest: str, *, until: datetime, now: datetime) -> bool:
    """Note that a logout token was used, until it is too old to be; False when it was used before."""
    sweep(SpentLogoutToken.objects.filter(until__lt=now), "until")
    # Of several at the same time the unique key accepts one; `ignore_conflicts` would not show which.
    _, is_first = SpentLogoutToken.objects.get_or_create(pk=digest, defaults={"until": until})
    return is_first


def end_signed_in(*, subject: str | None, sid: str) -> int:
    """End the sessions that the provider ended: the one that it names, else all of the person.

    `subject` is the identifier as it is stored, None where the provider named a session only; `sid` the digest of that
    session, empty where it named the person only. A person whose sessions came without the provider's is signed out
    everywhere. How many were ended, all of a person count as one.
    """
    user = User.objects.filter(oidc_subject=subject).first() if subject else None
    if not sid:
        return _end_all(user)
    sessions = ProviderSession.objects.filter(sid=sid)
    if subject:
        sessions = sessions.filter(user__oidc_subject=subject)
    keys = list(sessions.values_list("pk", flat=True))
    if not keys:
        is_named_elsewhere = user and ProviderSession.objects.filter(user=user).exists()
        return 0 if is_named_elsewhere else _end_all(user)
    with transaction.atomic():
        Session.objects.filter(pk__in=keys).delete()
        ProviderSession.objects.filter(pk__in=keys).delete()
    return len(keys)


def _end_all(user: User | None) -> int:
    if user is None:
        return 0
    with transaction.atomic():
        end_sessions(user, by=BY_PROVIDER)
        ProviderSession.objects.filter(user=user).delete()
    return 1


def record_unknown_identity(digest: str, now: datetime) -> None:
    """One more valid sign-in of an identity that has no account; only its `digest` is stored."""
    UnknownIdentity.objects.get_or_create(digest=digest, defaults={"first_at": now, "last_at": now})
    UnknownIdentity.objects.filter(digest=digest).update(times=F("times") + 1, last_at=now)
