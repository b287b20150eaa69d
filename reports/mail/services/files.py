"""Mail as files, for a machine without a mail server: one `.eml` a message, which any mail program opens."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from reports.mail.emails import MailError

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9@.-]+")


class FileBackend(BaseEmailBackend):
    """Writes into EMAIL_FILE_PATH. The file is named by the Message-ID: a repeated message replaces itself."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        try:
            for letter in email_messages:
                _write(Path(settings.EMAIL_FILE_PATH), letter)
        except OSError as error:
            raise MailError(f"mail folder: {error.strerror}", is_connection=True) from error
        return len(email_messages)


def _write(folder: Path, letter: EmailMessage) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    message = letter.message()
    name = NOT_IN_NAMES.sub("", message["Message-ID"])
    unfinished = folder / f".{name}.part"
    unfinished.write_bytes(message.as_bytes())
    os.replace(unfinished, folder / f"{name}.eml")
