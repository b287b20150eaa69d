"""kaiku login [--runs] [--url ADDRESS] [--name NAME]

Shows an address and a code. Open the address in a browser, on any device, where you are signed in to the portal,
compare the code and approve it. This machine then gets a token of its own, which only reads what you may see. It is
stored in a file that nobody else can read, and listed under Settings, API tokens, where you can revoke it.

  --runs           get the token for `kaiku run-log`, beside the one that reads: it logs experiments and their runs,
                   and reads no jobs
  --name NAME      what the token is called there; "kaiku on MACHINE" if not set
"""

from __future__ import annotations

import os
import time

from cli.answers import document, text
from cli.cache import Cache
from cli.credentials import one_token
from cli.errors import CliError, NoAnswer, NoSignIn, SignInNeeded
from cli.options import FLAG, TEXT
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.http_client import Portal
    from cli.session import Session

OPTIONS = {"name": TEXT, "runs": FLAG}
WORDS_MAX = 0

CLIENT_ID = "kaiku-cli"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"  # RFC 8628, section 3.4
INTERVAL_S_DEFAULT, INTERVAL_S_MAX, SLOWER_S = 5.0, 60.0, 5.0  # RFC 8628, sections 3.2 and 3.5
WAIT_S_MAX = 3600.0


def run(session: Session) -> int:
    """Get a token and store it in place of an earlier one for the same portal."""
    terminal, portal = session.terminal, session.portal_with("")
    session.credentials.check_storing()
    machine, purpose = os.uname().nodename.partition(".")[0], " run-log" if session.logs_runs else ""
    name = session.options.text("name") or f"kaiku{purpose} on {machine}"
    asked = _asked(session, portal, name)
    terminal.line("Open this address in a browser where you are signed in to the portal, and approve the code:")
    terminal.line()
    terminal.line(f"    {harmless(asked['verification_uri'])}")
    terminal.line(f"    code {terminal.paint(harmless(asked['user_code']), 'bold')}")
    if "verification_uri_complete" in asked:
        terminal.line()
        terminal.line(f"or, with the code in it: {harmless(asked['verification_uri_complete'])}")
    terminal.line()
    terminal.line("Waiting for the approval. Ctrl-C ends this.")
    terminal.flush()
    token = _waited(portal, asked, session.timeout_s)
    try:
        shown, replaced = _stored(session, token, name)
    except BaseException as error:
        # What no file holds must not stay valid: nobody could sign it out.
        failed = _revoked(session, token)
        if isinstance(error, CliError):
            then = f"the new token stays valid, revoke it under Settings, API tokens ({failed})" if failed else ""
            raise type(error)(f"{error}; {then or 'the new token is revoked again'}") from error
        raise
    terminal.line(shown)
    if session.credentials.given():
        terminal.line(f"{session.credentials.purpose.variable} is set and is used instead: unset it.")
    for earlier in replaced:
        if failed := _revoked(session, earlier):
            terminal.error(f"kaiku: the earlier token of this machine stays valid: {harmless(failed)}")
    return 0


def _stored(session: Session, token: str, name: str) -> tuple[str, list[str]]:
    """Store the token; what to show, and the tokens that it replaced."""
    answer = session.portal_with(token).call("GET", "/api/v1/whoami/", timeout_s=session.timeout_s).checked()
    user, until = text(document(answer), "user"), text(document(answer), "token", "expires_at")
    path, replaced = session.credentials.store(
        session.address,
        **{"token": token, "user": user, "expires_at": until},
        name=text(document(answer), "token", "name") or name,
    )
    may = "to log runs" if session.logs_runs else "read-only"
    return f"Signed in as {user}, {may}, until {until[:10]}. The token is in {harmless(path)}", replaced


def _revoked(session: Session, token: str) -> str:
    """End a token of this machine and its stored answers; why not, or empty. It then stays listed until it expires."""
    Cache(session.environ, str(session.address), token).clear()
    try:
        portal = session.portal_with(token)
        portal.call("POST", "/api/v1/device/revoke", timeout_s=session.timeout_s).checked()
    except NoSignIn:
        # It has ended already.
        return ""
    except CliError as error:
        return str(error)
    return ""


def _asked(session: Session, portal: Portal, name: str) -> dict[str, Any]:
    """The codes that the portal gives. Raises NoAnswer if they are not as RFC 8628 says."""
    form = {"client_id": CLIENT_ID, "device_name": name, "scope": "runs" if session.logs_runs else "read"}
    answer = portal.call("POST", "/api/v1/device/authorization", form=form, timeout_s=session.timeout_s)
    said = answer.checked().json()
    wanted = ("device_code", "user_code", "verification_uri")
    if not isinstance(said, dict) or not all(isinstance(said.get(name), str) for name in wanted):
        raise NoAnswer("the portal's answer is not one to a sign-in: check KAIKU_URL")
    return said


def _waited(portal: Portal, asked: dict[str, Any], timeout_s: float) -> str:
    """The token, once the person has approved; asks again as often as the portal allows. Raises NoSignIn, NoAnswer."""
    interval_s = _seconds(asked.get("interval"), INTERVAL_S_DEFAULT)
    until = time.monotonic() + min(_seconds(asked.get("expires_in"), WAIT_S_MAX), WAIT_S_MAX)
    form = {"grant_type": GRANT, "device_code": asked["device_code"], "client_id": CLIENT_ID}
    is_unheard = False
    while time.monotonic() + interval_s < until:
        time.sleep(interval_s)
        try:
            answer = portal.call("POST", "/api/v1/device/token", form=form, timeout_s=timeout_s)
            said = answer.json()
        except NoAnswer:
            # RFC 8628, section 3.5: after a time-out wait twice as long.
            is_unheard = True
            interval_s = min(2 * interval_s, INTERVAL_S_MAX)
            continue
        said = said if isinstance(said, dict) else {}
        if answer.status == 200 and isinstance(said.get("access_token"), str):
            return one_token(said["access_token"], "the portal's answer")
        error = said.get("error")
        if error == "slow_down" or answer.status == 429:
            interval_s = min(interval_s + SLOWER_S, INTERVAL_S_MAX)
        elif error == "access_denied":
            raise NoSignIn("refused on the portal")
        elif error == "expired_token":
            break
        elif error == "invalid_grant" and is_unheard:
            raise SignInNeeded("the answer with the token was lost: revoke it on the portal under Settings, API tokens")
        elif error != "authorization_pending" and answer.status < 500:
            raise CliError(f"the portal answered {answer.status}: {error}")
    raise SignInNeeded("nobody approved the code in time")


def _seconds(value: object, default: float) -> float:
    """A number of seconds from 1 that somebody else sent."""
    return float(value) if isinstance(value, int) and 1 <= value <= 86400 else default
