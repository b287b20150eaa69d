"""What somebody sent with a form after their session had ended, until they have signed in again.

It waits in the session of the same browser, not in an address, and is shown once, on the page of its form, to the
account that the form was made for: each such form names it in a hidden field. Any other account finds nothing.
"""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from portal.rate_limits import CHANGES, seconds_to_wait

View = Callable[..., HttpResponseBase]
KEY = "unsaved"
KEPT_S = 3600
FIELDS_MAX, LENGTH_MAX = 100, 6000
WRITER = "writer"
"""The hidden field of a form that holds the key of the account it was made for (`portal/_writer.html`)."""
OF_A_WEBHOOK = "webhook_address"
"""A field that is itself a secret, and is written again rather than kept."""
LEFT_OUT = frozenset({"csrfmiddlewaretoken", WRITER, OF_A_WEBHOOK})


def keeps_unsaved(view: View) -> View:
    """Keeps what a form sends to this view while nobody is signed in; around `login_required`."""

    @wraps(view)
    def kept(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            keep_unsaved(request)
        return view(request, *args, **kwargs)

    return kept


def keep_unsaved(request: HttpRequest) -> None:
    """Keep the fields of a form that nobody is signed in for, with the account that it was made for.

    What names no account, is too long or comes too often is not kept.
    """
    fields = {name: value for name, value in request.POST.items() if name not in LEFT_OUT}
    is_small = len(fields) <= FIELDS_MAX and sum(map(len, fields.values())) <= LENGTH_MAX
    writer = request.POST.get(WRITER, "")
    if not writer or not is_small or seconds_to_wait(CHANGES, request):
        return
    at = timezone.now().timestamp()
    request.session[KEY] = {"path": request.path, "fields": fields, "writer": writer[:32], "at": at}


def has_unsaved(request: HttpRequest) -> bool:
    """Whether something of the signed-in account waits for the form at this address."""
    kept = _own(request)
    return kept is not None and kept["path"] == request.path


def take_unsaved(request: HttpRequest, page: str, forms: tuple[str, ...] = ("",)) -> tuple[str, dict[str, str]] | None:
    """(The one of these forms below this page, what was sent with it), once; None where nothing waits.

    `forms` are the ends of their addresses; the empty one is the page itself.
    """
    kept = _own(request)
    form = str(kept["path"]).removeprefix(page).strip("/") if kept and str(kept["path"]).startswith(page) else None
    if kept is None or form not in forms:
        return None
    del request.session[KEY]
    if timezone.now().timestamp() - float(kept["at"]) > KEPT_S:
        return None
    return form, dict(kept["fields"])


def _own(request: HttpRequest) -> dict | None:
    """What waits for the signed-in account; what somebody else wrote is dropped here."""
    kept = request.session.get(KEY)
    if kept is None or not request.user.is_authenticated:
        return None
    if kept.get("writer") == str(request.user.pk):
        return dict(kept)
    del request.session[KEY]
    return None
