"""Posting to the address of a webhook: https alone, public addresses alone, no redirect, within one deadline.

The rules of `education.services.asking`: a name is looked up once, every address it leads to is checked, and the
connection goes to one of exactly those. No database is used here, so several posts run at once in threads.
"""

import http.client
import ssl
from ipaddress import ip_address
from socket import gaierror, inet_aton, inet_ntoa

from django.conf import settings

from education.public_addresses import is_public_site
from education.services.asking import Asking, NotFollowed, Target, named, target_of
from reports.webhooks.rules import Answer, retry_after

TIMEOUT_S = 5.0
"""For looking the name up, connecting and the answer together."""

ADDRESS_CHARACTERS_MAX = 1000


def may_reach(address: str, port: int) -> bool:
    """Whether webhooks may connect there: the https port of public addresses, and loopback where a test allows it."""
    if settings.WEBHOOK_LOOPBACK and ip_address(address.partition("%")[0]).is_loopback:
        return True
    return port == 443 and is_public_site(address, port)


def checked_target(address: str) -> Target:
    """Where an address leads, before its name is looked up. Raises ValueError with a sentence for its writer."""
    if len(address) > ADDRESS_CHARACTERS_MAX:
        raise ValueError(f"The address is longer than {ADDRESS_CHARACTERS_MAX} characters.")
    try:
        target = target_of(address)
    except (NotFollowed, ValueError) as error:
        raise ValueError("This is not an address with https:// and a host.") from error
    if target.scheme != "https":
        raise ValueError("The address must begin with https://.")
    literal = _literal(target.host)
    if literal and not may_reach(literal, target.port):
        raise ValueError("The address must be a public one.")
    if target.port != 443 and not settings.WEBHOOK_LOOPBACK:
        raise ValueError("The address must use port 443.")
    return target


def _literal(host: str) -> str:
    """The IP address that a host spells, in any spelling that connects there; empty for a name."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        return inet_ntoa(inet_aton(host))  # 2130706433, 0x7f.1 and 0177.0.0.1 too
    except OSError:
        return ""


def post(address: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Post a body; what came of it. Nothing of the address or of the answer's text is in it."""
    try:
        target = checked_target(address)
        status, after = Asking(TIMEOUT_S, may_reach).post(target, body, headers)
    except NotFollowed:
        return Answer(0, "leads to an address that is not public", is_refused=True)
    except TimeoutError:
        return Answer(0, f"no answer within {TIMEOUT_S:g} s", is_in_doubt=True)
    except ssl.SSLError as error:
        return Answer(0, f"no trusted connection: {error.reason or 'TLS failed'}"[:200])
    except (OSError, http.client.HTTPException) as error:
        is_in_doubt = not isinstance(error, (ConnectionRefusedError, gaierror))
        return Answer(0, f"not reached: {type(error).__name__}", is_in_doubt=is_in_doubt)
    except (ValueError, OverflowError):
        return Answer(0, "not an address that may be used", is_refused=True)
    if 300 <= status < 400:
        return Answer(status, f"{named(status)}: redirects are not followed")
    return Answer(status, named(status), retry_after(after))
