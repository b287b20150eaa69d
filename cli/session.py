"""What every command gets: its options, the terminal, the portal, and answers with their age."""

from __future__ import annotations

from cli.address import encoded, proxy_for
from cli.cache import Cache
from cli.credentials import LOGGING, READING, Credentials, site_settings
from cli.errors import CliError, NoAnswer, NoSignIn, SignInNeeded, Usage
from cli.http_answer import Answer
from cli.http_client import Portal
from cli.options import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cli.address import Address
    from cli.credentials import Site
    from cli.options import Options
    from cli.terminal import Terminal

TIMEOUT_S_DEFAULT = 5
SECONDS = whole(1, 600)


class Session:
    """One run of `kaiku`. What is not needed is not read: a command without the portal opens no file."""

    def __init__(self, options: Options, environ: Mapping[str, str], terminal: Terminal) -> None:
        self.options, self.environ, self.terminal = options, environ, terminal
        self.credentials = Credentials(environ, LOGGING if options.flag("runs") else READING)
        self.timeout_s = options.number("timeout", self._timeout_s())
        self._site: Site | None = None
        self._address: Address | None = None
        self._portal: Portal | None = None

    def timeout_or(self, default_s: float) -> float:
        """How long to wait: as it was set, else by default."""
        is_set = self.options.flag("timeout") or self.environ.get("KAIKU_TIMEOUT")
        return self.timeout_s if is_set else default_s

    def use_log_token(self) -> None:
        """From now on the token is the one that logs runs."""
        self.credentials = Credentials(self.environ, LOGGING)

    @property
    def logs_runs(self) -> bool:
        """Whether the token is the one that logs runs."""
        return self.credentials.purpose is LOGGING

    @property
    def address(self) -> Address:
        """Where the portal is. Raises Usage."""
        if self._address is None:
            self._site = site_settings()
            self._address = self.credentials.address(self.options.text("url"), self._site)
        return self._address

    @property
    def token(self) -> str:
        """The token for the portal. Raises NoSignIn."""
        return self.credentials.token(self.address, self.options.text("token-file"))

    def explained(self, error: CliError) -> CliError:
        """The error; where a sign-in remedies it, with what to run for that, as this command line was written."""
        if not isinstance(error, SignInNeeded):
            return error
        purpose = self.credentials.purpose
        login = purpose.login + (f" --url {self.address}" if self.options.text("url") else "")
        if self.options.text("token-file"):
            return NoSignIn(f"{error}: run `{login}`, and leave out --token-file")
        unset = f"unset {purpose.variable} and " if self.credentials.given() else ""
        return NoSignIn(f"{error}: {unset}run `{login}`")

    @property
    def portal(self) -> Portal:
        """The portal with the person's token."""
        if self._portal is None:
            self._portal = self.portal_with(self.token)
        return self._portal

    @property
    def has_portal(self) -> bool:
        """Whether the portal was needed so far, with a token."""
        return self._portal is not None

    def forget_portal(self) -> None:
        """Open a new connection with the next call."""
        self._portal = None

    def portal_with(self, token: str) -> Portal:
        """The portal with another token, or with none."""
        address = self.address
        ca_file = self._site.ca_file if self._site else ""
        return Portal(address, token=token, ca_file=ca_file, proxy=proxy_for(address, self.environ))

    @property
    def cache(self) -> Cache:
        return Cache(self.environ, str(self.address), self.portal.token)

    def get(
        self, path: str, query: Mapping[str, object] | None = None, *, accept: str = "application/json",
        check: Callable[[object], None] | None = None, wider: Mapping[str, object] | None = None,
    ) -> tuple[Answer, float | None]:  # fmt: skip
        """A successful answer, and None; without one in time the stored answer of the same call, and its age in
        seconds.

        `path` is percent-encoded (`address.quoted`). `check` (of `cli.shapes`) gets the document; what it
        rejects is neither shown nor stored. The stored answer may be that of a `wider` query, which contains this one.
        Raises NotFound, Usage, NoSignIn, and NoAnswer if nothing is stored either.
        """
        call = f"{path}?{encoded(query or {})}"
        cache = self.cache
        age_s: float | None = None
        try:
            if self.options.flag("offline"):
                raise NoAnswer("nothing is stored for this: run it once without --offline")
            answer = self.portal.call("GET", path, query=query, accept=accept, timeout_s=self.timeout_s).checked()
        except NoAnswer:
            stored = cache.get(call) or (cache.get(f"{path}?{encoded(wider)}") if wider is not None else None)
            if stored is None:
                raise
            answer, age_s = Answer(200, {}, stored[0]), stored[1]
        if check:
            check(answer.json())
        if age_s is None:
            cache.put(call, answer.content)
        return answer, age_s

    def post(self, path: str, document: object) -> Answer:
        """A successful answer to a document. Raises the same; nothing is stored."""
        return self.portal.call("POST", path, document=document, timeout_s=self.timeout_s).checked()

    def _timeout_s(self) -> int:
        written = self.environ.get("KAIKU_TIMEOUT", "")
        try:
            return SECONDS(written) if written else TIMEOUT_S_DEFAULT
        except ValueError as error:
            raise Usage(f"KAIKU_TIMEOUT must be {error}") from error


def age_told(age_s: float) -> str:
    """An age in words.

    >>> age_told(59), age_told(7200), age_told(200000)
    ('less than a minute', '2 hours', '2 days')
    """
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(age_s // seconds)
        if count:
            return f"{count} {unit}" + ("s" if count > 1 else "")
    return "less than a minute"
