"""Letters to a person: the templates of a folder, and what every letter has beside them."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from jobs.models import User
from reports.mail.emails import Letter, headers
from reports.mail.view import calm
from reports.numbers import unbroken
from reports.services.links import address, opt_out_address

SUBJECT_LENGTH_MAX = 200


def addressed(
    user: User,
    key: str,
    folder: str,
    subject: str,
    context: Mapping[str, Any],
    pictures: Mapping[str, bytes] | None = None,
    settings_page: str = "settings",
) -> Letter:
    """The letter of the templates in `folder`; `settings_page` is where its reader chooses such mail."""
    subject, stop = calm(subject, SUBJECT_LENGTH_MAX), opt_out_address(user)
    about = {"subject": subject, "user": user, "settings_url": address(settings_page), "opt_out_url": stop, **context}
    return Letter(
        subject=subject,
        body=render_to_string(f"emails/{folder}/body.txt", about),
        html=unbroken(render_to_string(f"emails/{folder}/body.html", about)),
        pictures=pictures or {},
        to=[user.email],
        reply_to=[settings.MAIL_REPLY_TO] if settings.MAIL_REPLY_TO else None,
        headers=headers(key, stop),
    )
