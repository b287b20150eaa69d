"""kaiku logout [--runs]

Revokes the token of this machine, and deletes it here together with every stored answer. Other machines stay signed in;
they are listed on the portal under Settings, API tokens. With KAIKU_TOKEN or --token-file, that token is revoked
instead.

  --runs           the token for `kaiku run-log` alone, which otherwise stays: running jobs may use it
"""

from __future__ import annotations

from cli.errors import NoAnswer, NoSignIn
from cli.hints import forget as forget_hints
from cli.options import FLAG
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session

OPTIONS = {"runs": FLAG}
WORDS_MAX = 0


def run(session: Session) -> int:
    """What is stored here goes even if the portal cannot be reached; that is then stated, with status 4."""
    terminal, portal = session.terminal, session.portal
    is_given = bool(session.options.text("token-file") or session.credentials.given())
    session.cache.clear()
    if not session.logs_runs:
        forget_hints(session.environ)
    try:
        portal.call("POST", "/api/v1/device/revoke", timeout_s=session.timeout_s).checked()
        done = "Signed out: the token is revoked."
    except NoSignIn:
        done = "Signed out: the token was not valid any more."
    except NoAnswer as error:
        if not is_given:
            session.credentials.forget(session.address, portal.token)
        raise NoAnswer(
            f"signed out here only, the token is still valid: revoke it under Settings, API tokens ({error})"
        ) from error
    if not is_given:
        session.credentials.forget(session.address, portal.token)
    terminal.line(done)
    if is_given:
        file = session.options.text("token-file")
        variable = session.credentials.purpose.variable
        terminal.line(f"It was the one in {harmless(file)}: delete it." if file else f"It was {variable}: unset it.")
    return 0
