"""What all settings pages share: the list of these pages, and what fills in their forms."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

from portal.unsaved import take_unsaved


def sections() -> dict[str, bool]:
    """Which of the settings pages there are, for `portal/settings/_settings_sections.html`."""
    return {"has_slurm_comments": settings.SLURM_COMMENTS, "has_webhooks": settings.WEBHOOKS}


def sent_fields(request: HttpRequest) -> Mapping[str, str] | None:
    """What fills in the form of this page: what was sent now, or after the session had ended; None for neither."""
    if request.method == "POST":
        return request.POST
    unsaved = take_unsaved(request, request.path)
    if unsaved is None:
        return None
    messages.info(request, "Not saved yet: you were signed out when you sent this. It is in the form below.")
    return unsaved[1]
