"""How often an address or a name may try a password; counted in the database, so no two requests use the same attempt.

An attempt is counted before the password is checked and given back if it was right: sending many at once does not get
more of them checked. The cache is not suitable: the file cache reads and writes a count in two steps, and Redis may be
unreachable. A person signing in needs the database anyway.

Sign-in through a provider is not counted at all. Any count by address would let sixty people of one institute, or one
of them on purpose, lock out the rest, and there is nothing to guess: a code is valid once, for a state of this browser.
The cost of such a sign-in is limited instead; see `portal.sign_in.pending` and `portal.sign_in.provider`.
"""

import hashlib
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from jobs.sign_in.services import give_back_attempt, take_attempt

WINDOW = timedelta(minutes=5)
PER_NAME_MAX = 8  # wrong passwords for one name from one address
PER_ADDRESS_MAX = 60  # wrong passwords from one address: a whole institute may share one


def take(request: HttpRequest, name: str) -> list[str]:
    """Use one attempt of this name from this address, and one of the address; returns their keys, none if none is
    left."""
    taken: list[str] = []
    for key, most in _limits(request, name):
        if not take_attempt(key, most=most, window=WINDOW, now=timezone.now()):
            give_back(taken)
            return []
        taken.append(key)
    return taken


def give_back(taken: list[str]) -> None:
    """Give back these attempts, because they were not wrong."""
    for key in taken:
        give_back_attempt(key)


def too_many(request: HttpRequest) -> HttpResponse:
    """The error page with the time to wait."""
    answer = render(request, "portal/sign_in/sign_in_paused.html", {"minutes": WINDOW.seconds // 60}, status=429)
    answer["Retry-After"] = str(WINDOW.seconds)
    return answer


def client_address(request: HttpRequest) -> str:
    """The address of the browser; behind a proxy the last one, which the proxy itself added."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.IS_BEHIND_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")


def _limits(request: HttpRequest, name: str) -> list[tuple[str, int]]:
    address = client_address(request)
    # All spellings of a name that the form accepts for the same account.
    folded = unicodedata.normalize("NFKC", name).strip().casefold()
    by_address = [(_key(address), PER_ADDRESS_MAX)]
    return [(_key(address, folded), PER_NAME_MAX), *by_address] if folded else by_address


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
