"""The page where a person approves the sign-in of a program, by the code that the program shows."""

from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from jobs.device_sign_in.services import answer
from jobs.models import DeviceSignIn, Token
from jobs.tokens.selectors import own_tokens
from portal.access import person, signed_in_form
from portal.sign_in.attempts import client_address, give_back, take, too_many
from portal.sign_in.device import waiting_sign_in
from portal.sign_in.personal_tokens import TOKENS_MAX

CODE = "user_code"
WRONG = "No program waits with this code: it is mistyped, was used already, or is more than 15 minutes old."


@never_cache
@signed_in_form
def device(request: HttpRequest) -> HttpResponse:
    """Without a code a form for it; with the code of a program that waits what it asks for. A POST answers."""
    written = (request.POST if request.method == "POST" else request.GET).get(CODE, "").strip()
    if not written:
        return render(request, "portal/device/device.html", {"code": ""})
    # A wrong code counts as a wrong password does: nobody gets at a program by trying codes.
    taken = take(request, f"device code of {person(request).pk}")
    if not taken:
        return too_many(request)
    row = waiting_sign_in(written, timezone.now())
    if row is None:
        return render(request, "portal/device/device.html", {"code": written[:16], "error": WRONG})
    give_back(taken)
    if request.method == "POST" and request.POST.get("answer") in ("approve", "refuse"):
        return _answered(request, row, is_approved=request.POST["answer"] == "approve")
    return _asked(request, row, written)


def _asked(request: HttpRequest, row: DeviceSignIn, written: str, error: str = "") -> HttpResponse:
    letters = "".join(letter for letter in written.upper() if letter.isalpha())
    context = {
        **{"code": f"{letters[:4]}-{letters[4:8]}", "row": row, "error": error, "days": settings.DEVICE_TOKEN_DAYS},
        "until": timezone.now() + timedelta(days=settings.DEVICE_TOKEN_DAYS),
        "is_logging": row.kind == Token.Kind.RUNS,
        "is_elsewhere": row.address != client_address(request),
    }
    return render(request, "portal/device/device.html", context)


def _answered(request: HttpRequest, row: DeviceSignIn, *, is_approved: bool) -> HttpResponse:
    user = person(request)
    if is_approved and own_tokens(user).count() >= TOKENS_MAX:
        full = f"You have {TOKENS_MAX} tokens, which is the limit: revoke one under Settings, then approve again."
        return _asked(request, row, request.POST[CODE], full)
    if not answer(row, user, is_approved=is_approved, now=timezone.now()):
        messages.error(request, WRONG)
    elif is_approved:
        follows = "can log runs" if row.kind == Token.Kind.RUNS else "is signed in"
        messages.success(
            request, f"Approved. “{row.device_name}” {follows} as {user.get_username()} within some seconds."
        )
    else:
        messages.success(request, f"Refused. “{row.device_name}” gets no access.")
    return redirect("device")
