"""A compute node's part, run inside a host: sends each payload until it is acknowledged, and prints what was."""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request

PATIENCE_S = 600
PAUSE_S = 0.2


def send(url: str, token: str, document: object) -> int:
    request = urllib.request.Request(
        url, json.dumps(document).encode(), {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.status


def main(base: str, token: str) -> None:
    """Lines `[path, document]` on standard input; one line `job_id path tries` for each that was acknowledged."""
    for line in sys.stdin:
        path, document = json.loads(line)
        deadline, tries = time.monotonic() + PATIENCE_S, 0
        while time.monotonic() < deadline:
            tries += 1
            try:
                send(f"{base}/api/v1/ingest/{path}", token, document)
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    sys.exit(f"refused: {error.code} {error.read()!r}")
            except OSError:
                pass
            else:
                print(document["job_id"], path, tries, flush=True)
                break
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
