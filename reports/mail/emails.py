"""The only way to send mail: one letter with its headers, and handing it to the mail server."""

import smtplib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from email.mime.image import MIMEImage
from email.utils import parseaddr
from typing import Any, cast

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, SafeMIMEMultipart, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend

from jobs.work_queue.outbox.rules import REASON_LENGTH_MAX
from wire.safe_text import printable

LINE_LENGTH_MAX = 998  # RFC 5322, section 2.1.1
SERVICE_NOT_AVAILABLE = 421  # RFC 5321, section 3.8: the server closes the connection


class MailError(Exception):
    """A letter was not handed over; the message is safe to store and to show to staff.

    `is_permanent`: trying again is useless. `is_connection`: the server is the problem, so the next letter would fail
    the same way. `is_in_doubt`: the server got all of it and never answered, so it may have arrived.
    """

    def __init__(
        self, said: str, *, is_permanent: bool = False, is_connection: bool = False, is_in_doubt: bool = False
    ) -> None:
        super().__init__(printable(said)[:REASON_LENGTH_MAX])
        self.is_permanent = is_permanent
        self.is_connection = is_connection
        self.is_in_doubt = is_in_doubt


class LetGo(Exception):
    """The row does not belong to this worker any more."""


class NotWanted(Exception):
    """This message is not to be sent; the text is the reason as the outbox keeps it."""


class NotNow(Exception):
    """This message is to be sent later."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"not before {until.isoformat()}")
        self.until = until


class Unanswered(smtplib.SMTPServerDisconnected):
    """The server got a whole message and did not answer in time."""


class _Smtp(smtplib.SMTP):
    """An SMTP client that distinguishes a server silent after the message from one silent before it."""

    def data(self, msg: Any) -> tuple[int, bytes]:
        try:
            return super().data(msg)
        except smtplib.SMTPServerDisconnected as error:
            if isinstance(error.__context__, TimeoutError):
                raise Unanswered("no answer to the whole message") from error
            raise


class _SmtpOverTls(_Smtp, smtplib.SMTP_SSL):
    pass


class SmtpBackend(EmailBackend):
    """Django's SMTP backend with that client."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _SmtpOverTls if self.use_ssl else _Smtp


class Letter(EmailMultiAlternatives):
    """Text and HTML; pictures are part of the HTML (multipart/related), files are attached to both."""

    def __init__(self, *, pictures: Mapping[str, bytes], html: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attach_alternative(html, "text/html")
        self.html, self.pictures = html, pictures

    def message(self, **options: Any) -> Any:
        """The letter as sent; pictures are found by `cid:NAME@kaiku`."""
        message: Any = super().message(**options)
        # Unfolded, because some mail programs do not read a folded List-Unsubscribe.
        message.policy = message.policy.clone(max_line_length=LINE_LENGTH_MAX)
        body = next(part for part in message.walk() if part.get_content_type() == "multipart/alternative")
        text, html = cast(list[Any], body.get_payload())
        related = SafeMIMEMultipart(_subtype="related", encoding="utf-8")
        related.attach(html)
        for name, png in self.pictures.items():
            picture = MIMEImage(png, _subtype="png")
            picture.add_header("Content-ID", f"<{name}@kaiku>")
            picture.add_header("Content-Disposition", "inline", filename=f"{name}.png")
            related.attach(picture)
        body.set_payload([text, related])
        return message


def headers(key: str, opt_out_url: str) -> dict[str, str]:
    """Headers that mark a letter as automatic (RFC 3834), allow one-click opt-out (RFC 8058), and identify it."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return {
        "Message-ID": f"<{key}@{domain}>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-Unsubscribe": f"<{opt_out_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


@contextmanager
def post_office() -> Iterator[BaseEmailBackend]:
    """A connection to the mail server for several letters, opened with the first."""
    connection = get_connection()
    try:
        yield connection
    finally:
        close(connection)


def close(connection: BaseEmailBackend) -> None:
    """Close the connection, even where the server does not answer any more."""
    try:
        connection.close()
    except (smtplib.SMTPException, OSError):
        connection.connection = None  # type: ignore[attr-defined]  # of the SMTP backend; others ignore it


def post(letter: Letter, connection: BaseEmailBackend) -> None:
    """Hand one letter over; it is the server's once this returns. Raises MailError."""
    try:
        connection.open()
        connection.send_messages([letter])
    except MailError:
        raise
    except smtplib.SMTPRecipientsRefused as error:
        raise _refused(*next(iter(error.recipients.values()))) from error
    except (smtplib.SMTPHeloError, smtplib.SMTPAuthenticationError, smtplib.SMTPConnectError) as error:
        # The server refuses this site, not this letter: nothing is lost while somebody fixes it.
        raise MailError(f"mail server: {error.smtp_code} {_text(error.smtp_error)}", is_connection=True) from error
    except smtplib.SMTPResponseException as error:
        raise _refused(error.smtp_code, error.smtp_error) from error
    except (smtplib.SMTPException, OSError) as error:
        said = f"mail server: {error or type(error).__name__}"
        raise MailError(said, is_connection=True, is_in_doubt=isinstance(error, Unanswered)) from error
    except ValueError as error:  # a header or an address that cannot be written
        raise MailError(f"cannot be written: {error}", is_permanent=True) from error
    except Exception as error:  # an error of ours: the letter may have been sent, and the next one may succeed
        raise MailError(f"could not be sent: {type(error).__name__}", is_in_doubt=True) from error


def _refused(code: int, said: bytes | str) -> MailError:
    return MailError(
        f"{code} {_text(said)}", is_permanent=is_permanent(code), is_connection=code == SERVICE_NOT_AVAILABLE
    )


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said


def is_permanent(code: int) -> bool:
    """Whether an SMTP reply means that trying again is useless (RFC 5321, section 4.2.1).

    >>> is_permanent(550), is_permanent(451), is_permanent(0)
    (True, False, False)
    """
    return 500 <= code <= 599
