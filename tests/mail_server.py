"""A real SMTP server in a thread of the test: it takes mail, refuses it, hangs, or drops the line."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

logging.getLogger("mail.log").setLevel(logging.WARNING)  # aiosmtpd tells every line of every dialogue

HOST = "127.0.0.1"


class Post:
    """What arrived, and how to answer: `answers` maps RCPT, MAIL or DATA to a reply, or an address to one for it."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.answers: dict[str, str] = {}
        self.hangs = False
        self.silent_at = ""
        self.hangs_after_taking = False
        self.drops_in_data = False
        self.on_taken: Callable[[], None] = lambda: None
        self.port = 0

    async def _rest(self, step: str) -> None:
        if self.silent_at == step:
            await asyncio.sleep(60)

    async def handle_MAIL(self, server, session: Session, envelope: Envelope, address: str, options) -> str:
        await self._rest("MAIL")
        if "MAIL" not in self.answers:
            envelope.mail_from = address
        return self.answers.get("MAIL", "250 OK")

    async def handle_RCPT(self, server, session: Session, envelope: Envelope, address: str, options) -> str:
        await self._rest("RCPT")
        answer = self.answers.get(address, self.answers.get("RCPT", "250 OK"))
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session: Session, envelope: Envelope) -> str:
        if self.hangs:
            await asyncio.sleep(60)
        if "DATA" in self.answers:
            return self.answers["DATA"]
        self.messages.append(message_from_bytes(envelope.content, policy=policy.default))
        self.recipients += envelope.rcpt_tos
        self.on_taken()
        if self.hangs_after_taking:
            await asyncio.sleep(60)
        return "250 OK"


class Dropping(SMTP):
    """Closes the line in the middle of DATA when its post says so."""

    async def smtp_DATA(self, arg: str) -> None:
        if not self.event_handler.drops_in_data:
            await super().smtp_DATA(arg)
            return
        await self.push("354 Go on")
        await self._reader.readline()
        self.transport.abort()


class Server(Controller):
    def factory(self) -> SMTP:
        return Dropping(self.handler)


@contextmanager
def mail_server() -> Iterator[Post]:
    """A server on a port of its own; what it got is in the Post."""
    post = Post()
    with socket.socket() as free:
        free.bind((HOST, 0))
        post.port = free.getsockname()[1]
    server = Server(post, hostname=HOST, port=post.port)
    server.start()
    try:
        yield post
    finally:
        server.stop()
