"""The rate limits of people's calls, as throttles of REST framework."""

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from jobs.models import Token
from portal.rate_limits import ANONYMOUS_API, API, DOWNLOADS, RUN_CALLS, seconds_to_wait


class Calls(BaseThrottle):
    """Calls a minute for a person, whatever programs they use; fewer for an address without a person."""

    wait_s = 0

    def limit(self, request: Request) -> str:
        return API if request.user.is_authenticated else ANONYMOUS_API

    def allow_request(self, request: Request, view: object) -> bool:
        self.wait_s = seconds_to_wait(self.limit(request), request)
        return not self.wait_s

    def wait(self) -> int:
        return self.wait_s


class RunCalls(Calls):
    """Calls a minute with a token that logs runs: all tasks of an array begin theirs at once, and none may stop."""

    def limit(self, request: Request) -> str:
        logs = isinstance(request.auth, Token) and request.auth.kind == Token.Kind.RUNS
        return RUN_CALLS if logs else super().limit(request)


class Downloads(Calls):
    """Files a minute whose figures have to be drawn, or that read all of a person's runs."""

    def limit(self, request: Request) -> str:
        return DOWNLOADS
