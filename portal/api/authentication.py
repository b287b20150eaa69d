"""Who calls: a person, identified by a session of the portal or by a personal token, or a program of the site."""

from dataclasses import dataclass
from typing import ClassVar

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from jobs.models import Token, User
from jobs.tokens.models import PERSONAL, PREFIXES
from jobs.tokens.selectors import valid_token
from jobs.tokens.services import record_use
from portal.ingest.senders import ENDED, bearer
from portal.sign_in.personal_tokens import token_and_holder

READ, SEND, RUNS, FEED = PERSONAL
OTHER_PURPOSE = {
    READ: "This token only reads.",
    SEND: "This token only sends measurements of your own runs; it cannot read.",
    RUNS: "This token only logs your experiments and their runs; it cannot read jobs.",
    FEED: "This token only reads the feed of your reports.",
}


class PersonalTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer kaiku_pat_…`: a person's own program reads what the person may see, and writes nothing.

    `kinds` are those of tokens that the call takes, `writing` those with which it may change something.
    """

    kinds: frozenset[str] = frozenset({READ})
    writing: frozenset[str] = frozenset()

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        secret = bearer(get_authorization_header(request).decode("latin-1"))
        if secret is None:
            return None
        found = token_and_holder(secret, timezone.now())
        if found is None:
            raise AuthenticationFailed(ENDED)
        token, holder = found
        if token.kind not in self.kinds:
            raise PermissionDenied(OTHER_PURPOSE[Token.Kind(token.kind)])
        if request.method not in SAFE_METHODS and token.kind not in self.writing:
            raise PermissionDenied("A personal token is read-only.")
        return holder, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class OwnTokenAuthentication(PersonalTokenAuthentication):
    """The same for a call that changes nothing but the token itself, and is not for sessions."""

    kinds = writing = frozenset({READ, RUNS})


class AskingTokenAuthentication(PersonalTokenAuthentication):
    """The same for a call that takes its question as a body: it reads as well, and changes nothing that exists."""

    writing = frozenset({READ})


class LoggingTokenAuthentication(PersonalTokenAuthentication):
    """The same for calls about experiments: a token that logs (`kaiku_log_…`) writes them, and one that reads reads."""

    kinds, writing = frozenset({READ, RUNS}), frozenset({RUNS})


@dataclass(frozen=True)
class Program:
    """A program of the site that calls with a token; `pk` is what calls are counted by."""

    token: Token
    is_authenticated: ClassVar[bool] = True

    @property
    def pk(self) -> str:
        return f"{self.token.kind_in_log.label.lower()} {self.token.pk}"


class ProgramAuthentication(BaseAuthentication):
    """`Authorization: Bearer …` with a token of the site for one thing; other tokens are for other classes."""

    kind: Token.Kind
    only_reads = True

    def authenticate(self, request: Request) -> tuple[Program, Token] | None:
        secret = bearer(get_authorization_header(request).decode("latin-1"))
        if secret is None or not secret.startswith(PREFIXES[self.kind]):
            return None
        now = timezone.now()
        token = valid_token(secret, [self.kind], now)
        if token is None:
            raise AuthenticationFailed(ENDED)
        if self.only_reads:
            if request.method not in SAFE_METHODS:
                raise PermissionDenied(f"A {token.kind_in_log.label.lower()} is read-only.")
            # The use of the others shows in what they sent.
            record_use(token, now)
        return Program(token), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
