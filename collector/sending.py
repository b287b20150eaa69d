"""`send FILE…`: kept summaries of own runs to the portal, one after the other."""

from __future__ import annotations

import gzip
import json
import sys

from collector import shipper, spool

KNOWN = "already sent, by this or another run of the same job on this node, of which the first is kept:"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from collector.config import Config


def command(config: Config, files: Sequence[str]) -> int:
    """Send each file and print the result; 1 if one of them could not be sent."""
    failed = 0
    for path in files:
        is_sent, how = send(config, path)
        print(f"{path}: {how}", file=sys.stderr)
        failed += not is_sent
    return 1 if failed else 0


def send(config: Config, path: str) -> tuple[bool, str]:
    """Send one file; whether it was sent, and how, or why not."""
    try:
        with open(path, "rb") as file:
            body = gzip.compress(file.read(), 6)
        portal = shipper.Portal(config)
        status, retry_after, answer = portal.exchange(shipper.PATHS[spool.SUMMARY], body)
        if status in (401, 403):
            return False, f"the portal rejected the token in {config.token_file}"
        shipper.judge(status, retry_after, answer)
    except (shipper.ShipError, shipper.TryLater, shipper.Refused, OSError) as error:
        return False, str(error)
    is_known = json.loads(answer)["accepted"] == 0
    return True, KNOWN if is_known else "sent"
