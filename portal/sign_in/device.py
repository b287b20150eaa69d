"""Sign-in of programs without a browser, as RFC 8628 describes it: the codes, and the token at the end.

The token is a personal token that reads or, with the scope `runs`, logs runs: listed, named and revoked under Settings
as every other. It is created when the program fetches it, not when the person approves, so its secret is never stored.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.crypto import salted_hmac

from jobs.device_sign_in.selectors import of_device, waiting_with
from jobs.device_sign_in.services import begin, note_poll, spend
from jobs.models import DeviceSignIn, Token, User
from jobs.shown_text.joiners import can_be_seen
from jobs.tokens.selectors import own_tokens, token_digest
from jobs.tokens.services import issue_token
from portal.sign_in.personal_tokens import can_sign_in
from wire.safe_text import printable

CLIENT_IDS = ("kaiku-cli",)
"""The programs that may begin a sign-in; they are public, so this is a name and no proof."""
GRANT = "urn:ietf:params:oauth:grant-type:device_code"  # RFC 8628, section 3.4
SCOPE = Token.Kind.READ.value
"""Of a program that names none, and of a session of the portal."""
SCOPES = (SCOPE, Token.Kind.RUNS.value)
"""What a program may request, one of them: the kind of its token."""
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""RFC 8628, section 6.1: no vowels, so no words; upper case and no digits, so nothing to confuse."""
CODE_LETTERS = 8  # 20 ** 8 codes, 34.5 bits: the length of the example in RFC 8628, section 6.1
DEVICE_CODE_BYTES = 32
LASTS = timedelta(minutes=15)
INTERVAL_S = 5
NAME_DEFAULT = "kaiku"
NAME_LENGTH_MAX = 60
"""With room for a number where a person has a token of this name."""
ADDRESS_LENGTH_MAX = 64

PENDING, SLOW_DOWN, DENIED, EXPIRED = "authorization_pending", "slow_down", "access_denied", "expired_token"
INVALID_GRANT = "invalid_grant"


class Declined(Exception):
    """No token, or not yet; the message is the error code of RFC 8628, section 3.5, or RFC 6749, section 5.2."""


@dataclass(frozen=True)
class Codes:
    """What a program gets: its own secret, and what it shows to its person."""

    device_code: str
    user_code: str


def new_codes(device_name: str, address: str, scope: str, now: datetime) -> Codes:
    """Begin a sign-in of a program that says that it is called so, from this address."""
    while True:
        letters = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        codes = Codes(secrets.token_urlsafe(DEVICE_CODE_BYTES), f"{letters[:4]}-{letters[4:]}")
        digests = {"device_digest": token_digest(codes.device_code), "user_digest": user_digest(codes.user_code)}
        said = {
            "device_name": shown_name(device_name),
            "address": printable(address)[:ADDRESS_LENGTH_MAX],
            "kind": scope,
        }
        if begin(**digests, **said, now=now, lasts=LASTS, interval_s=INTERVAL_S):
            return codes


def shown_name(written: str) -> str:
    """A name for the list of tokens, from what a program sent.

    >>> shown_name("  kaiku on uan01 "), shown_name("\\u200b"), len(shown_name("x" * 99))
    ('kaiku on uan01', 'kaiku', 60)
    """
    name = printable(written)[:NAME_LENGTH_MAX].strip()
    return name if can_be_seen(name) and name.strip("\ufffd ") else NAME_DEFAULT


def user_digest(written: str) -> str:
    """What is stored of a code, from what a person typed: case, blanks and dashes do not matter.

    Keyed, because a code is short enough to try all of them.
    """
    letters = "".join(letter for letter in written[:64].upper() if letter not in " -–—\u2010\u2011\u00a0")
    return salted_hmac("portal.device.user_code", letters, algorithm="sha256").hexdigest()


def waiting_sign_in(user_code: str, now: datetime) -> DeviceSignIn | None:
    """The sign-in that waits under this code; None for a wrong code, and one that was used or is over."""
    return waiting_with(user_digest(user_code), now)


def fetch_token(device_code: str, now: datetime) -> tuple[str, datetime, str]:
    """The token of an approved sign-in, its end and its scope, for the first that fetches it. Raises Declined."""
    row = of_device(token_digest(device_code))
    if row is None:
        raise Declined(INVALID_GRANT)
    if row.expires_at <= now:
        raise Declined(EXPIRED)
    if row.state == DeviceSignIn.State.REFUSED:
        raise Declined(DENIED)
    if row.state == DeviceSignIn.State.WAITING:
        raise Declined(PENDING if note_poll(row, now) else SLOW_DOWN)
    if row.user is None or not can_sign_in(row.user):
        raise Declined(DENIED)
    days = settings.DEVICE_TOKEN_DAYS
    with transaction.atomic():
        # A second poll waits here until the first has ended, and then finds nothing to take.
        if not spend(row, now):
            raise Declined(INVALID_GRANT)
        name = _free_name(row.user, row.device_name, now)
        return issue_token(row.user, name=name, days=days, now=now, kind=row.kind), now + timedelta(days=days), row.kind


def _free_name(user: User, wanted: str, now: datetime) -> str:
    """The name, with a number if a valid token has it already: another machine may have the same host name."""
    # Two sign-ins of one person at once would otherwise choose the same name.
    User.objects.select_for_update().get(pk=user.pk)
    taken = set(own_tokens(user).filter(expires_at__gt=now).values_list("name", flat=True))
    names = (wanted, *(f"{wanted} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
