"""kaiku login [--url ADDRESS] [--name NAME]

Shows an address and a code. Open the address in a browser, on any device, where you are signed in to the portal,
compare the code and approve it. This machine then gets a token of its own, which only reads what you may see. It is
stored in a file that nobody else can read, and listed under Settings, API tokens, where you can revoke it.

  --name NAME      what the token is called there; "kaiku on MACHINE" if not set
"""

from __future__ import annotations

import time

from collector.cli.cache import Cache
from collector.cli.errors import CliError, NoAnswer, NoSignIn
from collector.cli.options import TEXT
from collector.cli.session import host_name
from collector.cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.cli.http_client import Portal
    from collector.cli.session import Session

OPTIONS = {"name": TEXT}
WORDS_MAX = 0

CLIENT_ID = "kaiku-cli"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"  # RFC 8628, section 3.4
INTERVAL_S_DEFAULT, INTERVAL_S_MAX, SLOWER_S = 5.0, 60.0, 5.0  # RFC 8628, sections 3.2 and 3.5
WAIT_S_MAX = 3600.0


def run(session: Session) -> int:
    """Get a token and store it in place of an earlier one for the same portal."""
    terminal, portal = session.terminal, session.portal_with("")
    name = session.options.text("name") or f"kaiku on {host_name()}"
    asked = _asked(portal, name, session.timeout_s)
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
    who = session.portal_with(token).call("GET", "/api/v1/whoami/", timeout_s=session.timeout_s).checked().json()
    said = who if isinstance(who, dict) else {}
    about = said.get("token")
    about = about if isinstance(about, dict) else {}
    user, until = str(said.get("user", "")), str(about.get("expires_at") or "")
    earlier = _stored_token(session)
    path = session.credentials.store(
        session.address, token=token, user=user, name=str(about.get("name") or name), expires_at=until
    )
    terminal.line(
        f"Signed in as {harmless(user)}, read-only, until {harmless(until[:10])}. The token is in {harmless(path)}"
    )
    if earlier:
        _revoke(session, earlier)
    return 0


def _stored_token(session: Session) -> str:
    """The token that the new one replaces; empty if there is none that can be used."""
    try:
        return session.credentials.stored(session.address).get("token", "")
    except NoSignIn:
        return ""


def _revoke(session: Session, token: str) -> None:
    """End the earlier token of this machine; if that fails it is listed on the portal until it expires."""
    Cache(session.environ, str(session.address), token).clear()
    try:
        session.portal_with(token).call("POST", "/api/v1/device/revoke", timeout_s=session.timeout_s)
    except NoAnswer as error:
        session.terminal.error(f"kaiku: the earlier token of this machine stays valid: {harmless(error)}")


def _asked(portal: Portal, name: str, timeout_s: float) -> dict[str, Any]:
    """The codes that the portal gives. Raises NoAnswer if they are not as RFC 8628 says."""
    form = {"client_id": CLIENT_ID, "device_name": name}
    answer = portal.call("POST", "/api/v1/device/authorization", form=form, timeout_s=timeout_s)
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
    while time.monotonic() + interval_s < until:
        time.sleep(interval_s)
        try:
            answer = portal.call("POST", "/api/v1/device/token", form=form, timeout_s=timeout_s)
            said = answer.json()
        except NoAnswer:
            # RFC 8628, section 3.5: after a time-out wait twice as long.
            interval_s = min(2 * interval_s, INTERVAL_S_MAX)
            continue
        said = said if isinstance(said, dict) else {}
        if answer.status == 200 and isinstance(said.get("access_token"), str):
            return str(said["access_token"])
        error = said.get("error")
        if error == "slow_down" or answer.status == 429:
            interval_s = min(interval_s + SLOWER_S, INTERVAL_S_MAX)
        elif error == "access_denied":
            raise NoSignIn("refused on the portal")
        elif error == "expired_token":
            break
        elif error != "authorization_pending" and answer.status < 500:
            raise CliError(f"the portal answered {answer.status}: {error}")
    raise NoSignIn("nobody approved the code in time: run `kaiku login` again")


def _seconds(value: object, default: float) -> float:
    """A number of seconds from 1 that somebody else sent."""
    return float(value) if isinstance(value, int) and 1 <= value <= 86400 else default
